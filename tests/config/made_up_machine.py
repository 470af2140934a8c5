"""A machine with so much memory, for pools whose size is found automatically."""

from pathlib import Path

from pegaflow.config.pool import AutoPool, auto_pool, free_space


class MadeUpMachine:
    """Has ``memory`` bytes free, and ``room`` in each file system, whatever this one has."""

    def __init__(
        self, directory: Path, *, memory: int, room: int, cgroup: Path | None = None
    ) -> None:
        self._directory = directory
        self._room = room
        self._cgroup = cgroup or directory / "no cgroup"
        (directory / "meminfo").write_text(
            f"MemTotal: 1 kB\nMemAvailable: {memory // 1024} kB\n", encoding="utf-8"
        )

    def pool(self, pool_dir: str | None, *, shared_memory: Path | None = None) -> AutoPool:
        """As ``auto_pool`` finds it here."""
        return auto_pool(
            pool_dir,
            proc=self._directory,
            cgroup=self._cgroup,
            shared_memory=shared_memory or self._directory,
            space=self._space,
        )

    def _space(self, directory: Path) -> int:
        # A directory that is not there has none here either.
        free_space(directory)
        return self._room
