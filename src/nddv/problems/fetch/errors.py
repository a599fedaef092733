"""Errors on the way to a file. Each means that one source failed; then the next is tried."""

from __future__ import annotations


class SourceError(RuntimeError):
    """A source could not give its files; the message says why."""


class DownloadError(SourceError):
    """The network or a client failed. The next call continues the download."""


class ArchiveError(SourceError):
    """An archive is damaged, or lacks a file that is asked for."""


class UnsafeArchive(ArchiveError):
    """An archive has a member that could be written outside its folder; nothing of it is used."""


class ChecksumError(SourceError):
    """Files do not have the expected checksum."""


class FetchError(RuntimeError):
    """Every source failed; the message lists each of them, and what to do."""
