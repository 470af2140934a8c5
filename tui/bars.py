"""The lines above and below the panels."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from textual.content import Content
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from pegaflow.observe.fleet import window_blocks
from pegaflow.observe.rows import FLOWS, percent
from pegaflow.observe.snapshot import Advice, Alert, Snapshot
from pegaflow.observe.thresholds import Level
from pegaflow.tui.drawing import counted, cut, duration, joined, rate, seconds, signed
from pegaflow.tui.glyphs import STYLES, Glyphs
from pegaflow.tui.host import Host
from pegaflow.tui.look import Look
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

_LOST_SHARE: Final = 0.01
"""Of the blocks asked for; less is not worth a word."""


class Line(Widget):
    """A line that is drawn only when it changes."""

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self._content = Content("")
        self._look: Look | None = None
        self._strip: Strip | None = None

    def show(self, content: Content) -> None:
        """Show other content."""
        if not content.is_same(self._content):
            self._content, self._strip = content, None
            self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """The line on the terminal, which is kept until it changes."""
        strip = self._strip
        if strip is None or strip.cell_length != self.size.width:
            look = self._look = self._look or Look(self)
            line = cut(self._content, max(self.size.width - 2, 0))
            pad = " " * max(self.size.width - 1 - line.cell_length, 0)
            parts = ((" ", "$text"), line, (pad, "$text"))
            strip = self._strip = look.strip(parts, self.size.width)
        return [strip.crop(*crop.column_span)] * crop.height

    def notify_style_update(self) -> None:
        """Draw in the new colours."""
        self._look = self._strip = None
        super().notify_style_update()


class Banner(Static):
    """A text that is folded where it is long, and is not there where it says nothing."""

    def __init__(self, name: str) -> None:
        super().__init__(id=name, markup=False)
        self._content = Content("")

    def show(self, content: Content) -> None:
        """Show other content, or nothing."""
        self.display = bool(content)
        if not content.is_same(self._content):
            is_as_high = self._height(content) == self._height(self._content)
            self._content = content
            self.update(content, layout=not is_as_high)

    def _height(self, content: Content) -> int:
        return len(content.wrap(max(self.content_size.width, 1)))


def header(host: Host, age_s: float | None, glyphs: Glyphs, width: int, cost: Content) -> Content:
    """Who is looked at, how it does, and how old that is."""
    now = host.now
    if now is None:
        waits = Content.assemble((f"{host.name} ", "bold"), "has not answered yet")
        return joined([waits, cost], width, f" {glyphs.dot} ")
    daemon = now.daemon
    level = _STATES.get(daemon.state, "ok")
    state = daemon.state + (f" {daemon.ready_percent:.0f}%" if daemon.state == "starting" else "")
    worst: Level = next((alert.level for alert in now.alerts), "ok")
    age: Level = host.history.thresholds["age"].level(age_s)
    parts = [
        Content.assemble((f"{now.host} ", "bold"), signed(level, state)),
        Content.styled(f"age {seconds(age_s)}", STYLES[age]),
        signed(worst, counted(len(now.alerts), "alert")),
        cost,
        Content(f"up {format_duration(daemon.uptime_s)}"),
        Content(f"version {daemon.version}"),
    ]
    return joined(parts, width, f" {glyphs.dot} ")


def fleet_header(hosts: Sequence[Host], glyphs: Glyphs, width: int, cost: Content) -> Content:
    """How many daemons there are, and how they do."""
    silent = sum(host.error is not None or host.now is None for host in hosts)
    count = sum(len(host.now.alerts) for host in hosts if host.now)
    parts = [
        Content.assemble(("fleet ", "bold"), counted(len(hosts), "daemon")),
        signed("critical" if silent else "ok", f"{silent} without an answer"),
        signed("warning" if count else "ok", counted(count, "alert")),
        cost,
    ]
    return joined(parts, width, f" {glyphs.dot} ")


def fleet_line(hosts: Sequence[Host], glyphs: Glyphs, width: int) -> Content:
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
    return joined([*map(Content, parts)], width, f" {glyphs.dot} ").stylize("$text-muted")


def cost(interval_s: float, own_cpu: float | None) -> Content:
    """How often daemons are read, and what that costs here."""
    used = "" if own_cpu is None else f", takes {own_cpu:.1%} of a core"
    return Content(f"every {interval_s:g} s{used}")


def host_line(now: Snapshot | None, glyphs: Glyphs, width: int) -> Content:
    """The daemon's pool, place and process."""
    if now is None:
        return Content("")
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
    return joined([*map(Content, parts)], width, f" {glyphs.dot} ").stylize("$text-muted")


def banner(host: Host, age_s: float | None) -> Content:
    """What is wrong with the connection; nothing where it is well."""
    if host.error is None:
        return Content("")
    shown = "nothing is known" if age_s is None else f"what is shown is {seconds(age_s)} old"
    return Content(f"DISCONNECTED, {shown}: {host.error}")


def fleet_banner(hosts: Sequence[Host], age_s: Callable[[Host], float | None]) -> Content:
    """Who does not answer."""
    silent = [host for host in hosts if host.error is not None]
    if not silent:
        return Content("")
    told = [
        f"{host.name} ({'never seen' if (age := age_s(host)) is None else f'{seconds(age)} old'})"
        for host in silent
    ]
    return Content(f"{len(silent)} of {counted(len(hosts), 'daemon')} not there: {', '.join(told)}")


def tabs(hosts: Sequence[Host], shown: int, width: int) -> Content:
    """The fleet and each daemon, the shown one marked; those around it where they are many."""
    parts = [_tab("fleet", "ok", is_shown=shown == 0)]
    parts += [
        _tab(host.name, _level(host), is_shown=number == shown)
        for number, host in enumerate(hosts, start=1)
    ]
    first, room = 0, width - 2
    while first < shown and sum(part.cell_length for part in parts[first : shown + 1]) > room:
        first += 1
    line = Content("<" if first else "")
    for part in parts[first:]:
        if line.cell_length + part.cell_length > width - 1:
            return line + ">"
        line += part
    return line


def _tab(name: str, level: Level, *, is_shown: bool) -> Content:
    text = signed(level, f"[{name}]" if is_shown else f" {name} ")
    return (text.stylize("bold reverse") if is_shown else text) + " "


def _level(host: Host) -> Level:
    """How a daemon does; one that was not asked yet does well."""
    if host.error is not None:
        return "critical"
    alerts = host.now.alerts if host.now else ()
    return next((one.level for one in alerts), "ok")


def alert(alerts: Sequence[Alert]) -> Content:
    """The worst alert, and how many there are besides; nothing of none."""
    if not alerts:
        return Content("")
    more = f" (and {len(alerts) - 1} more)" if len(alerts) > 1 else ""
    return signed(alerts[0].level, alerts[0].text + more)


def fleet_alerts(hosts: Sequence[Host]) -> list[Alert]:
    """The alerts of all daemons that answer, the worst first."""
    found = [
        replace(one, text=f"{host.name}: {one.text}")
        for host in hosts
        if host.now is not None and host.error is None
        for one in host.now.alerts
    ]
    return sorted(found, key=lambda one: one.level != "critical")


def advice(host: Host, width: int, glyphs: Glyphs) -> Content:
    """What the numbers suggest; nothing of numbers that are old."""
    now = host.now
    if now is None or host.error:
        return Content("")
    parts = [Content(text) for text in _advice(now)] or [Content("nothing to advise yet")]
    return joined(parts, width, f" {glyphs.dot} ").stylize("$text-muted")


def _advice(now: Snapshot) -> Iterator[str]:
    blocks, evictions = now.window_blocks, now.evictions
    if declined := now.queues.unfetched.get("declined", 0):
        yield f"{counted(declined, 'block')} computed, not fetched from ssd: that was faster"
    lost = now.misses.lost / blocks.requested if blocks.requested else 0.0
    if evictions.memory_blocks and lost >= _LOST_SHARE:
        yield f"{percent(lost)} of blocks asked for were lost: {_larger(now)}"
    if worth := _worth(now.advice):
        yield worth


def _worth(advice: Advice) -> str | None:
    """Whether it pays to bring a block back, by tier."""
    compute_s = advice.recompute_block_s
    times = {"memory": advice.memory_block_s, "ssd": advice.ssd_block_s}
    known = {tier: took_s for tier, took_s in times.items() if took_s is not None}
    if compute_s is None or not known:
        return None
    slow = [tier for tier, took_s in known.items() if took_s > compute_s]
    told = ", ".join(f"{tier} {duration(took_s)}" for tier, took_s in known.items())
    pays = f"{' and '.join(slow)} not worth it" if slow else "worth it"
    return f"compute {duration(compute_s)} a block, {told}: {pays}"


def _larger(now: Snapshot) -> str:
    pool = next(tier for tier in now.tiers if tier.tier == "memory")
    suggested = now.advice.suggested_pool_bytes or 0
    if suggested > pool.capacity_bytes:
        return f"{format_size(suggested)} would keep most"
    return "`pegaflow plan` says what more is worth"


@lru_cache(maxsize=16)
def hints(modes: tuple[str, ...], width: int, *, has_several: bool) -> Content:
    """What the view leaves out, and keys to begin with."""
    told = [Content.styled(mode, "bold $warning") for mode in modes]
    keys = [
        Content.assemble((key, "bold $accent"), f" {words}")
        for key, words in _HINTS
        if has_several or words != "daemons"
    ]
    return joined([*told, *keys], width, "  ")


def waiting(hosts: Sequence[Host], interval_s: float) -> Content:
    """What there is to say before anybody has answered."""
    lines = [
        signed(_level(host), f"{host.name}: {host.error or 'no answer yet'}") for host in hosts
    ]
    help_lines = [
        "",
        f"It is asked again every {interval_s:g} s.",
        "`pegaflow serve` starts a daemon; `pegaflow doctor` says what keeps one from working.",
        "`pegaflow top --demo` shows daemons that are made up.",
    ]
    return Content("\n").join([*lines, *map(Content, help_lines)])


def of_host(host: Host, at: float, glyphs: Glyphs, width: int, cost: Content) -> dict[str, Content]:
    """The lines around the panels of a daemon, by their names."""
    now, age_s = host.now, host.age_s(at)
    return {
        "header": header(host, age_s, glyphs, width, cost),
        "host": host_line(now, glyphs, width),
        "banner": banner(host, age_s) if now else Content(""),
        "alert": alert(now.alerts if now and not host.error else ()),
        "advice": advice(host, width, glyphs),
    }


def of_fleet(
    hosts: Sequence[Host], at: float, glyphs: Glyphs, width: int, cost: Content
) -> dict[str, Content]:
    """The lines around the panels of all daemons, by their names."""
    return {
        "header": fleet_header(hosts, glyphs, width, cost),
        "host": fleet_line(hosts, glyphs, width),
        "banner": fleet_banner(hosts, lambda host: host.age_s(at)),
        "alert": alert(fleet_alerts(hosts)),
        "advice": Content(""),
    }
