"""Write every file that describes the project: ``python -m nddv.metadata`` in its folder."""

from __future__ import annotations

import sys
from pathlib import Path

from nddv.metadata.files import CROISSANTS, texts
from nddv.support.files import atomic_write


def main() -> int:
    """Write what has changed, remove what no data set has any more, and say so."""
    root = Path()
    written = set()
    try:
        for name, text in texts(root):
            path = root / name
            written.add(path)
            if not path.exists() or path.read_text("utf-8") != text:
                with atomic_write(path) as temporary:
                    temporary.write_text(text, encoding="utf-8")
                print(name)
    except ImportError as error:
        print(f"{error.name} is not installed: `make metadata` installs it", file=sys.stderr)
        return 2
    for path in set((root / CROISSANTS).glob("*.json")) - written:
        path.unlink()
        print(f"{path} (removed: no such data set)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
