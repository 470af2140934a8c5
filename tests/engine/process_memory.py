"""How much memory a process has to itself."""

from pathlib import Path


def own_bytes(pid: int) -> int:
    """Resident bytes that are not shared memory: the pool and its slot table are."""
    return anonymous_bytes(pid) + _resident(pid, "RssFile")


def anonymous_bytes(pid: int) -> int:
    """Resident bytes that are of no file, so that nothing but the process gives them back."""
    return _resident(pid, "RssAnon")


def _resident(pid: int, name: str) -> int:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    fields = dict(line.split(":", 1) for line in status.splitlines())
    return 1024 * int(fields[name].split()[0])
