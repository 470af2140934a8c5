"""Which transfers are under way, and what vLLM is to be told of them, each exactly once."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from pegaflow.connector.metadata import LoadOrder, SaveOrder


@dataclass
class Completion:
    """Pure bookkeeping of one worker; all collections empty when it is idle."""

    saves: dict[int, SaveOrder] = field(default_factory=dict)
    """By transfer id: saves that may still read blocks."""
    loads: dict[int, LoadOrder] = field(default_factory=dict)
    """By transfer id: loads that may still write blocks."""
    held: set[str] = field(default_factory=set)
    """Finished requests whose blocks vLLM keeps until they are reported as sent."""
    ended_saves: Counter[int] = field(default_factory=Counter)
    received: set[str] = field(default_factory=set)
    failed_blocks: set[int] = field(default_factory=set)

    def save_ended(self, order: SaveOrder) -> None:
        """This worker is done with a save, whatever came of it."""
        self.ended_saves[order.serial] += 1

    def load_ended(self, order: LoadOrder, ok: bool) -> None:
        """Nobody writes the request's blocks any more."""
        self.received.add(order.request_id)
        if not ok:
            self.failed_blocks.update(order.block_ids)

    def ended(self, transfer_id: int, ok: bool) -> None:
        """A transfer ended; one that was let go before is ignored."""
        save = self.saves.pop(transfer_id, None)
        if save is not None:
            self.save_ended(save)
        load = self.loads.pop(transfer_id, None)
        if load is not None:
            self.load_ended(load, ok)

    def saves_of(self, request_ids: Iterable[str]) -> list[int]:
        """Transfer ids of these requests' saves."""
        wanted = set(request_ids)
        return [id for id, order in self.saves.items() if order.request_id in wanted]

    def loads_of(self, request_ids: Iterable[str]) -> list[int]:
        """Transfer ids of these requests' loads."""
        wanted = set(request_ids)
        return [id for id, order in self.loads.items() if order.request_id in wanted]

    def take_sent(self) -> set[str]:
        """Held requests whose every save has ended, once."""
        saving = {order.request_id for order in self.saves.values()}
        sent = self.held - saving
        self.held &= saving
        return sent

    def take_received(self) -> set[str]:
        """Requests whose load has ended, once."""
        received, self.received = self.received, set()
        return received

    def take_failed_blocks(self) -> set[int]:
        """Blocks that loads should have filled and did not, once."""
        failed, self.failed_blocks = self.failed_blocks, set()
        return failed

    def take_ended_saves(self) -> dict[int, int]:
        """Serials of the save orders that ended, once."""
        ended, self.ended_saves = dict(self.ended_saves), Counter()
        return ended
