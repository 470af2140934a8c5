"""What the lines above and below the panels say of one daemon."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from pegaflow.observe.snapshot import Alert, Snapshot
from pegaflow.observe.thresholds import Level
from pegaflow.tui.advising import advice
from pegaflow.tui.drawing import counted, muted, seconds, signed
from pegaflow.tui.glyphs import STYLES, Glyphs
from pegaflow.tui.host import Host
from pegaflow.tui.line import Line, joined, styled
from pegaflow.units import format_duration, format_size

_STATES: Final[dict[str, Level]] = {
    "degraded": "critical",
    "starting": "warning",
    "draining": "warning",
}
_HINTS: Final = (
    ("?", "help"),
    ("q", "quit"),
    ("/", "filter"),
    (":", "commands"),
    ("p", "pause"),
    ("z", "faults"),
    ("c", "compact"),
    ("Enter", "details"),
    ("[ ]", "daemons"),
    ("s", "sort"),
    ("+ -", "interval"),
    ("t", "theme"),
)
"""Keys to begin with, the most useful ones first."""


def header(host: Host, age_s: float | None, glyphs: Glyphs, width: int, cost: Line) -> Line:
    """Who is looked at, how it does, and how old that is."""
    now = host.now
    if now is None:
        waits = styled(f"{host.name} ", "bold") + styled("has not answered yet")
        return joined([waits, cost], width, f" {glyphs.dot} ")
    daemon = now.daemon
    level = _STATES.get(daemon.state, "ok")
    state = daemon.state + (f" {daemon.ready_percent:.0f}%" if daemon.state == "starting" else "")
    worst: Level = next((alert.level for alert in now.alerts), "ok")
    age: Level = host.history.thresholds["age"].level(age_s)
    parts = [
        styled(f"{now.host} ", "bold") + signed(level, state),
        styled(f"age {seconds(age_s)}", STYLES[age]),
        signed(worst, counted(len(now.alerts), "alert")),
        cost,
        styled(f"up {format_duration(daemon.uptime_s)}"),
        styled(f"version {daemon.version}"),
    ]
    return joined(parts, width, f" {glyphs.dot} ")


def cost(interval_s: float, own_cpu: float | None) -> Line:
    """How often daemons are read, and what that costs here."""
    used = "" if own_cpu is None else f", takes {own_cpu:.1%} of a core"
    return styled(f"every {interval_s:g} s{used}")


def host_line(now: Snapshot | None, glyphs: Glyphs, width: int) -> Line:
    """The daemon's pool, place and process."""
    if now is None:
        return ()
    daemon = now.daemon
    pool = next(tier for tier in now.tiers if tier.tier == "memory")
    parts = (
        f"pool {format_size(pool.capacity_bytes)} on {daemon.pool_kind}, {daemon.policy}",
        counted(len(now.engines), "engine"),
        counted(daemon.gpus, "GPU"),
        *([counted(len(now.nodes), "NUMA node")] if now.nodes else []),
        daemon.http_addr,
        f"pid {daemon.pid}",
        f"boot {daemon.boot_id}",
    )
    return muted(parts, width, glyphs)


def banner(host: Host, age_s: float | None) -> Line:
    """What is wrong with the connection; nothing where it is well."""
    if host.error is None:
        return ()
    shown = "nothing is known" if age_s is None else f"what is shown is {seconds(age_s)} old"
    return styled(f"DISCONNECTED, {shown}: {host.error}")


def alert(alerts: Sequence[Alert]) -> Line:
    """The worst alert, and how many there are besides; nothing of none."""
    if not alerts:
        return ()
    more = f" (and {len(alerts) - 1} more)" if len(alerts) > 1 else ""
    return signed(alerts[0].level, alerts[0].text + more)


def advice_line(host: Host, width: int, glyphs: Glyphs) -> Line:
    """What the numbers suggest; nothing of numbers that are old."""
    now = host.now
    if now is None or host.error:
        return ()
    return muted([*advice(now)] or ["nothing to advise yet"], width, glyphs)


@lru_cache(maxsize=16)
def hints(modes: tuple[str, ...], width: int, *, has_several: bool) -> Line:
    """What the view leaves out, and keys to begin with."""
    told = [styled(mode, "bold $warning") for mode in modes]
    keys = [
        styled(key, "bold $accent") + styled(f" {words}")
        for key, words in _HINTS
        if has_several or words != "daemons"
    ]
    return joined([*told, *keys], width, "  ")


def waiting(hosts: Sequence[Host], interval_s: float) -> Line:
    """What there is to say before anybody has answered."""
    told = [signed(host.level, f"{host.name}: {host.error or 'no answer yet'}") for host in hosts]
    end = styled("\n")
    return (
        *(part for line in told for part in line + end),
        *styled(
            f"\nIt is asked again every {interval_s:g} s.\n"
            "`pegaflow serve` starts a daemon; "
            "`pegaflow doctor` says what keeps one from working.\n"
            "`pegaflow top --demo` shows daemons that are made up."
        ),
    )


def of_host(host: Host, at: float, glyphs: Glyphs, width: int, cost: Line) -> dict[str, Line]:
    """The lines around the panels of a daemon, by their names."""
    now, age_s = host.now, host.age_s(at)
    return {
        "header": header(host, age_s, glyphs, width, cost),
        "host": host_line(now, glyphs, width),
        "banner": banner(host, age_s) if now else (),
        "alert": alert(now.alerts if now and not host.error else ()),
        "advice": advice_line(host, width, glyphs),
    }
