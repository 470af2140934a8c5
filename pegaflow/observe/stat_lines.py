"""A snapshot as one line of short text, for terminals and logs."""

from collections.abc import Iterable
from typing import Final

from pegaflow.observe.fleet import Unanswered
from pegaflow.observe.rows import FLOWS, iso_time, percent
from pegaflow.observe.snapshot import Snapshot
from pegaflow.units import format_size

_USUAL: Final = 14
"""Columns for the host's name, of which some need more."""
_GAP: Final = ".."
"""What a name has in its middle where it is cut."""
_VALUES: Final = (
    f"{'state':8}  {'mem':>4}  {'ssd':>4}  {'hit':>4}  {'asked/s':>8}  "
    f"{'save/s':>9}  {'load/s':>9}  {'p99 load':>9}  {'leases':>6}  {'evict':>6}  notes"
)


class StatLines:
    """Lines of ``--stat`` under one heading, whose hosts can be told apart."""

    def __init__(self, hosts: Iterable[str], columns: int | None = None) -> None:
        """For ``hosts``, on a terminal of so many ``columns``, or without an end of lines."""
        names = set(hosts)
        longest = max(map(len, names), default=0)
        self._width = max(_USUAL, longest)
        if columns is not None:
            room = max(_USUAL, columns - len(f"{'time':8}    {_VALUES}"))
            if len({_cut(name, room) for name in names}) == len(names):
                self._width = min(self._width, room)

    @property
    def heading(self) -> str:
        """The names of the columns."""
        return f"{'time':8}  {'host':{self._width}}  {_VALUES}"

    def line(self, snapshot: Snapshot) -> str:
        """A snapshot in one line of text."""
        blocks, window = snapshot.window_blocks, snapshot.window
        load = next((one for one in snapshot.latencies if one.name == "load"), None)
        asked = blocks.requested / window.seconds if window.seconds > 0 else 0.0
        p99 = "-" if load is None or load.p99_s is None else f"{load.p99_s * 1e3:.1f} ms"
        notes = ["restarted"] if window.restarted else []
        if snapshot.alerts:
            mark = "!!" if snapshot.alerts[0].level == "critical" else "!"
            notes.append(f"{mark} {snapshot.alerts[0].text}")
        save, load_rate = (format_size(int(snapshot.flow(name).bytes_per_s)) for name in FLOWS)
        return (
            f"{self._begin(snapshot.at, snapshot.host)}{snapshot.daemon.state:8}  "
            f"{_share(snapshot, 'memory'):>4}  {_share(snapshot, 'ssd'):>4}  "
            f"{percent(blocks.hit_rate):>4}  {asked:>8,.0f}  {save:>9}  {load_rate:>9}  {p99:>9}  "
            f"{snapshot.leases.held:>6,}  {snapshot.evictions.memory_blocks:>6,}  "
            f"{'; '.join(notes)}"
        ).rstrip()

    def gap(self, unanswered: Unanswered, at: float) -> str:
        """The line of a daemon that did not answer at the time ``at``."""
        return f"{self._begin(at, unanswered.host)}no answer: {unanswered.error}"

    def _begin(self, at: float, host: str) -> str:
        return f"{iso_time(at)[11:19]:8}  {_cut(host, self._width):{self._width}}  "


def _cut(name: str, width: int) -> str:
    """The name in ``width`` columns: of a long one its begin, and more of its end with the port."""
    if len(name) <= width:
        return name
    begin = (width - len(_GAP)) // 2
    return name[:begin] + _GAP + name[begin + len(_GAP) - width :]


def _share(snapshot: Snapshot, tier: str) -> str:
    found = [part for part in snapshot.tiers if part.tier == tier]
    capacity = sum(part.capacity_bytes for part in found)
    return percent(sum(part.used_bytes for part in found) / capacity if capacity else None)
