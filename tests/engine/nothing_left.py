"""The end of a request: neither engine nor daemon holds anything for it."""

from typing import Final

from tests.engine.daemon import DaemonProcess
from tests.engine.stepped_engine import SteppedEngine
from tests.engine.waiting import wait_until

_RELEASE_S: Final = 5.0


def assert_nothing_left(engine: SteppedEngine, daemon: DaemonProcess) -> None:
    """No request, no block of vLLM's pool, no lease, pin or transfer."""
    assert not (requests := engine.requests()), f"the scheduler holds {requests}"
    assert not (blocks := engine.used_blocks()), f"{blocks} blocks of vLLM's pool are held"

    def held() -> dict[str, int]:
        status = daemon.status()
        return {
            "leases": status["leases"]["held"],
            "pinned blocks": status["pool"]["pinned_blocks"],
            "pages being filled": status["pool"]["in_flight_pages"],
            "saves": status["saves"]["in_flight"],
            "loads": status["loads"]["in_flight"],
        }

    wait_until(lambda: not any(held().values()), f"the daemon holds nothing: {held()}", _RELEASE_S)
