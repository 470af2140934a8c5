"""How much memory a process has to itself."""

from pathlib import Path


def own_bytes(pid: int) -> int:
    """Resident bytes that are not shared memory: the pool and its slot table are."""
    fields = dict(
        line.split(":", 1)
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    )
    return 1024 * sum(int(fields[name].split()[0]) for name in ("RssAnon", "RssFile"))
