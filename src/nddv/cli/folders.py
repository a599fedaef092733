"""A folder of pictures, with a folder per class, as a table of paths and classes."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from nddv.problems.encoders.known import PICTURE_SUFFIXES
from nddv.tabular.entries import count
from nddv.tabular.files import FileTable, TableError

PATH, TARGET = "path", "class"
LAYOUT = "make a folder per class, or a table with a column of paths (--picture COLUMN)"


def read_folder(folder: Path) -> tuple[FileTable, list[str]]:
    """The pictures below the folders of a folder, in order, and notices about what is left out.

    The class is the folder at the top. Hidden files are ignored.
    """
    if not folder.is_dir():
        raise TableError(f"{folder} is no folder; name one with a folder of pictures per class")
    try:
        files = [file.relative_to(folder) for file in _files(folder)]
    except OSError as error:
        raise TableError(f"{folder} cannot be read: {error}") from error
    named = [file for file in files if file.suffix.lower() in PICTURE_SUFFIXES]
    pictures = [file for file in named if len(file.parts) > 1]
    if not pictures:
        found = "pictures, but no folders of pictures" if named else "no pictures"
        raise TableError(f"{folder} has {found}; {LAYOUT}")
    paths, classes = [file.as_posix() for file in pictures], [file.parts[0] for file in pictures]
    strays = sorted({file.as_posix() for file in files} - set(paths))
    empty = sorted({f.name for f in _shown(folder) if f.is_dir()} - set(classes))
    notices = []
    if strays:
        left = count(len(strays), "file")
        notices.append(f"{left} of {folder}, no picture of a class, left out: {_some(strays)}")
    if empty:
        notices.append(
            f"{count(len(empty), 'folder')} of {folder} without pictures: {_some(empty)}"
        )
    frame = pd.DataFrame({PATH: paths, TARGET: classes})
    return FileTable(folder, frame, text=False), notices


def _shown(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if not file.name.startswith("."))


def _files(folder: Path) -> list[Path]:
    """All that is no folder, at any depth; links to folders are not followed."""
    files = []
    for file in _shown(folder):
        files += _files(file) if file.is_dir() and not file.is_symlink() else [file]
    return files


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
