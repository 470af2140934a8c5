"""The directories of the ssd tier, as a setting has them: ``/mnt/nvme0/pegaflow=500GiB``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pegaflow.file_names import local_name
from pegaflow.units import parse_size

SSD_FORM: Final = (
    "directories with the bytes that each may take, such as "
    "/mnt/nvme0/pegaflow=500GiB,/mnt/nvme1/pegaflow=500GiB (from / on, each once, printable UTF-8 "
    "without commas)"
)
"""What ``SsdPaths.parse`` accepts, in words."""


@dataclass(frozen=True)
class SsdPath:
    """One directory of the tier."""

    path: str
    capacity_bytes: int

    @classmethod
    def parse(cls, text: str) -> "SsdPath":
        """The directory in ``PATH=SIZE``; ``ValueError`` for anything else.

        >>> SsdPath.parse("/mnt/a=b=64MiB")
        SsdPath(path='/mnt/a=b', capacity_bytes=67108864)
        """
        path, equals, size = text.strip().rpartition("=")
        directory = Path(path).expanduser()
        capacity_bytes = parse_size(size)
        if not equals or not directory.is_absolute() or capacity_bytes == 0:
            raise ValueError(text)
        return cls(local_name(str(directory)), capacity_bytes)

    def __str__(self) -> str:
        return f"{self.path}={self.capacity_bytes}"


class SsdPaths(tuple[SsdPath, ...]):
    """All directories of the tier, whose text is that of the setting."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> "SsdPaths":
        """The directories in ``PATH=SIZE,PATH=SIZE``; ``ValueError`` for anything else."""
        paths = cls(SsdPath.parse(part) for part in text.split(","))
        if len({path.path for path in paths}) < len(paths):
            raise ValueError(text)
        return paths

    def __str__(self) -> str:
        return ",".join(map(str, self))
