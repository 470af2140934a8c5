"""Draws the kept screens anew, or those of the README into the directory that is given."""

import sys
from pathlib import Path

from tests.tui.pictures import PICTURES, all_pictures

_README = ("dashboard", "fleet", "faults")


def main(directory: str | None) -> None:
    """Write every screen."""
    if directory is not None:
        for picture in PICTURES:
            if picture.name in _README:
                file = Path(directory) / f"top-{picture.name}.svg"
                file.write_text(picture.draw((120, 40)), encoding="utf-8")
        return
    for picture, size in all_pictures():
        picture.file(size).write_text(picture.draw(size), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
