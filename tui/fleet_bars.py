"""What the lines above and below the panels say of all daemons."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from pegaflow.observe.fleet import window_blocks
from pegaflow.observe.rows import FLOWS, percent
from pegaflow.observe.snapshot import Alert
from pegaflow.observe.thresholds import Level
from pegaflow.tui.bars import alert
from pegaflow.tui.drawing import counted, muted, rate, seconds, signed
from pegaflow.tui.glyphs import Glyphs
from pegaflow.tui.host import Host
from pegaflow.tui.line import Line, cells, joined, restyled, styled


def fleet_header(hosts: Sequence[Host], glyphs: Glyphs, width: int, cost: Line) -> Line:
    """How many daemons there are, and how they do."""
    silent = sum(host.error is not None or host.now is None for host in hosts)
    count = sum(len(host.now.alerts) for host in hosts if host.now)
    parts = [
        styled("fleet ", "bold") + styled(counted(len(hosts), "daemon")),
        signed("critical" if silent else "ok", f"{silent} without an answer"),
        signed("warning" if count else "ok", counted(count, "alert")),
        cost,
    ]
    return joined(parts, width, f" {glyphs.dot} ")


def fleet_line(hosts: Sequence[Host], glyphs: Glyphs, width: int) -> Line:
    """What those that answer do together."""
    known = [host.now for host in hosts if host.now is not None and host.error is None]
    blocks = window_blocks(known)
    flows = [f"{name} {rate(sum(now.flow(name).bytes_per_s for now in known))}" for name in FLOWS]
    parts = [
        f"together {blocks.requested:,} blocks asked for = {blocks.memory:,} memory + "
        f"{blocks.ssd:,} ssd + {blocks.remote:,} remote + {blocks.miss:,} miss",
        f"{percent(blocks.hit_rate)} hits",
        *flows,
    ]
    return muted(parts, width, glyphs)


def fleet_banner(hosts: Sequence[Host], age_s: Callable[[Host], float | None]) -> Line:
    """Who does not answer."""
    silent = [host for host in hosts if host.error is not None]
    if not silent:
        return ()
    told = [
        f"{host.name} ({'never seen' if (age := age_s(host)) is None else f'{seconds(age)} old'})"
        for host in silent
    ]
    return styled(f"{len(silent)} of {counted(len(hosts), 'daemon')} not there: {', '.join(told)}")


def tabs(hosts: Sequence[Host], shown: int, width: int) -> Line:
    """The fleet and each daemon, the shown one marked; those around it where they are many."""
    parts = [_tab("fleet", "ok", is_shown=shown == 0)]
    parts += [
        _tab(host.name, host.level, is_shown=number == shown)
        for number, host in enumerate(hosts, start=1)
    ]
    first, room = 0, width - 2
    while first < shown and sum(map(cells, parts[first : shown + 1])) > room:
        first += 1
    line = styled("<" if first else "")
    for part in parts[first:]:
        if cells(line) + cells(part) > width - 1:
            return line + styled(">")
        line += part
    return line


def _tab(name: str, level: Level, *, is_shown: bool) -> Line:
    text = signed(level, f"[{name}]" if is_shown else f" {name} ")
    return (restyled(text, "bold reverse") if is_shown else text) + styled(" ")


def fleet_alerts(hosts: Sequence[Host]) -> list[Alert]:
    """The alerts of all daemons that answer, the worst first."""
    found = [
        replace(one, text=f"{host.name}: {one.text}")
        for host in hosts
        if host.now is not None and host.error is None
        for one in host.now.alerts
    ]
    return sorted(found, key=lambda one: one.level != "critical")


def of_fleet(
    hosts: Sequence[Host], at: float, glyphs: Glyphs, width: int, cost: Line
) -> dict[str, Line]:
    """The lines around the panels of all daemons, by their names."""
    return {
        "header": fleet_header(hosts, glyphs, width, cost),
        "host": fleet_line(hosts, glyphs, width),
        "banner": fleet_banner(hosts, lambda host: host.age_s(at)),
        "alert": alert(fleet_alerts(hosts)),
        "advice": (),
    }
