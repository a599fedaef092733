"""Data sets of OpenML, through scikit-learn."""

from __future__ import annotations

import socket
from http.client import HTTPException
from pathlib import Path

from nddv.problems.fetch.download import TIMEOUT_SECONDS
from nddv.problems.fetch.errors import DownloadError


def download_openml(number: int, downloads: Path, path: Path) -> None:
    """Write the features and the target of an OpenML data set to a parquet file.

    scikit-learn compares the download with the checksum that OpenML gives.
    """
    from sklearn.datasets import fetch_openml

    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(TIMEOUT_SECONDS)  # scikit-learn sets no limit
    try:
        frame = fetch_openml(data_id=number, as_frame=True, data_home=downloads).frame
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise DownloadError(f"OpenML data set {number}: {reason}") from error
    finally:
        socket.setdefaulttimeout(before)
    frame.to_parquet(path, index=False)
