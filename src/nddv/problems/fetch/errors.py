"""What can go wrong on the way to a file. All of these fail one source; the next is then tried."""

from __future__ import annotations


class SourceError(RuntimeError):
    """A source could not give its files; the message says why."""


class DownloadError(SourceError):
    """The network or a client failed. What has arrived is kept, and the next call goes on there."""


class ArchiveError(SourceError):
    """An archive is damaged, or lacks what was asked of it."""


class UnsafeArchive(ArchiveError):
    """An archive has a member that could be written outside its folder; nothing of it is used."""


class ChecksumError(SourceError):
    """Files are not the expected ones."""


class FetchError(RuntimeError):
    """Every source failed; the message lists each of them, and what to do."""
