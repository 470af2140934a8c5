"""What is still held when all is quiet, and what is left when all has ended."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.chaos.place import EnginePlace
from tests.chaos.resources import Growth
from tests.engine.daemon import DaemonProcess
from tests.engine.waiting import DeadlinePassed, wait_until

_QUIET_S: Final = 45.0


def held_for_requests(daemon: DaemonProcess) -> dict[str, int]:
    """What the daemon, which answers, holds for requests."""
    status = daemon.status()
    held = {
        "leases": status["leases"]["held"],
        "leased blocks": status["leases"]["blocks"],
        "pinned blocks": status["pool"]["pinned_blocks"],
        "pages being filled": status["pool"]["in_flight_pages"],
        "partial blocks": status["pool"]["partial_blocks"],
        "saves under way": status["saves"]["in_flight"],
        "loads under way": status["loads"]["in_flight"],
    }
    return {name: count for name, count in held.items() if count}


def leaks_when_quiet(daemon: DaemonProcess, places: Sequence[EnginePlace]) -> Iterator[str]:
    """A sentence for each thing that is held though no request is there."""
    for place in places:
        try:
            place.engine.reset()
        except DeadlinePassed:
            yield f"engine {place.number} holds blocks of its KV cache"
    if not becomes(lambda: not held_for_requests(daemon)):
        yield f"the daemon holds {held_for_requests(daemon)}"
    grants = daemon.socket.with_suffix(".sock.grants")
    if not becomes(lambda: len(list(grants.iterdir())) == len(places)):
        yield f"{len(list(grants.iterdir()))} grant files for {len(places)} workers"
    pool = Path(daemon.status()["pool"]["path"])
    own = {pool.name, pool.with_suffix(".slots").name}
    if strangers := {path.name for path in pool.parent.iterdir()} - own:
        yield f"beside the pool are {sorted(strangers)}"


def growth_when_quiet(measure: Callable[[], list[Growth]]) -> list[Growth]:
    """What is held more, at last: what is only on its way back is waited for."""
    becomes(lambda: not any(growth.is_leak() for growth in measure()))
    return measure()


def left_files(directory: Path, besides: Path | None = None) -> Iterator[str]:
    """A sentence for each file that nobody needs any more."""
    for path in sorted(directory.iterdir()):
        if path != besides:
            yield f"{path.name} is left in {directory}"


def becomes(condition: Callable[[], bool]) -> bool:
    """Whether ``condition`` comes to hold, given time."""
    try:
        return wait_until(condition, "all is quiet", _QUIET_S)
    except DeadlinePassed:
        return False
