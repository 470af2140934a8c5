"""The lines above and below the panels."""

from collections.abc import Sequence
from typing import ClassVar, Final

from textual.content import Content
from textual.widgets import Static

from pegaflow.observe.rows import percent
from pegaflow.observe.snapshot import Advice, Snapshot
from pegaflow.observe.thresholds import Level
from pegaflow.tui.drawing import duration, seconds, signed
from pegaflow.tui.glyphs import STYLES, Glyphs
from pegaflow.tui.host import Host
from pegaflow.units import format_duration, format_size

_STATES: Final[dict[str, Level]] = {
    "degraded": "critical",
    "starting": "warning",
    "draining": "warning",
}


class Line(Static):
    """A line that is drawn only when it changes."""

    LAYS_OUT: ClassVar[bool] = False
    """Whether it may become higher."""

    def __init__(self, name: str) -> None:
        super().__init__(id=name, markup=False)
        self._last = Content("")

    def show(self, content: Content) -> None:
        """Show other content."""
        if not content.is_same(self._last):
            self._last = content
            self.update(content, layout=self.LAYS_OUT)


class Banner(Line):
    """A line that is folded where it is long."""

    LAYS_OUT = True


def header(host: Host, age_s: float | None, glyphs: Glyphs) -> Content:
    """Who is looked at, how it does, and how old that is."""
    now = host.now
    if now is None:
        return Content.assemble(("pegaflow top ", "bold"), host.name, " waits for an answer")
    daemon, dot = now.daemon, f" {glyphs.dot} "
    level = _STATES.get(daemon.state, "ok")
    state = daemon.state + (f" {daemon.ready_percent:.0f}%" if daemon.state == "starting" else "")
    worst: Level = next((alert.level for alert in now.alerts), "ok")
    alerts = f"{len(now.alerts)} alerts" if len(now.alerts) != 1 else "1 alert"
    age: Level = host.history.thresholds["age"].level(age_s)
    return Content.assemble(
        (f"{now.host} ", "bold"),
        signed(level, state),
        f"{dot}up {format_duration(daemon.uptime_s)}{dot}",
        (f"age {seconds(age_s)}", STYLES[age]),
        dot,
        signed(worst, alerts),
        f"{dot}version {daemon.version}",
    )


def fleet_header(hosts: Sequence[Host], glyphs: Glyphs) -> Content:
    """How many daemons there are, and how they do."""
    silent = sum(host.error is not None or host.now is None for host in hosts)
    count = sum(len(host.now.alerts) for host in hosts if host.now)
    dot = f" {glyphs.dot} "
    return Content.assemble(
        ("fleet ", "bold"),
        f"{len(hosts)} daemons{dot}",
        signed("critical" if silent else "ok", f"{silent} without an answer"),
        dot,
        signed("warning" if count else "ok", f"{count} alerts"),
    )


def cost(interval_s: float, own_cpu: float | None, glyphs: Glyphs) -> Content:
    """How often daemons are read, and what that costs here."""
    used = "" if own_cpu is None else f", takes {own_cpu:.1%} of a core"
    return Content(f" {glyphs.dot} every {interval_s:g} s{used}")


def host_line(now: Snapshot | None, glyphs: Glyphs) -> Content:
    """The daemon's process and place."""
    if now is None:
        return Content("")
    daemon, dot = now.daemon, f" {glyphs.dot} "
    pool = next(tier for tier in now.tiers if tier.tier == "memory")
    return Content.styled(
        f"pid {daemon.pid}{dot}boot {daemon.boot_id}{dot}{daemon.http_addr}{dot}"
        f"pool {format_size(pool.capacity_bytes)} on {daemon.pool_kind}, {daemon.policy}{dot}"
        f"{daemon.gpus} GPUs{dot}{len(now.engines)} engines",
        "$text-muted",
    )


def banner(host: Host, age_s: float | None) -> Content | None:
    """What is wrong with the connection; None for nothing."""
    if host.error is None:
        return None
    shown = "nothing is known" if age_s is None else f"what is shown is {seconds(age_s)} old"
    return Content(f"DISCONNECTED, {shown}: {host.error}")


def tabs(hosts: Sequence[Host], shown: int) -> Content:
    """The fleet and each daemon, the one that is shown marked."""
    parts: list[Content | str] = []
    for index, name in enumerate(["fleet", *(host.name for host in hosts)]):
        worst: Level = "ok"
        if index and (host := hosts[index - 1]).tried:
            now = host.now
            alerts = now.alerts if now else ()
            worst = "critical" if host.error else next((one.level for one in alerts), "ok")
        text = f"[{name}]" if index == shown else f" {name} "
        parts.append(signed(worst, text).stylize("bold reverse" if index == shown else ""))
        parts.append(" ")
    return Content.assemble(*parts)


def advice(host: Host) -> Content:
    """The worst alert, else what the numbers suggest; nothing of numbers that are old."""
    now = host.now
    if now is None or host.error:
        return Content("")
    if now.alerts:
        more = f" (and {len(now.alerts) - 1} more)" if len(now.alerts) > 1 else ""
        return signed(now.alerts[0].level, now.alerts[0].text + more)
    blocks, evictions = now.window_blocks, now.evictions
    declined = now.queues.unfetched.get("declined", 0)
    if declined:
        text = f"{declined:,} blocks on ssd were computed instead of fetched: that was faster"
    elif slower := _slower(now.advice):
        text = slower
    elif evictions.memory_blocks and now.misses.lost:
        lost = percent(now.misses.lost / blocks.requested)
        text = f"{lost} of the blocks asked for were evicted before: {_larger(now)}"
    else:
        text = "nothing to advise"
    return Content.styled(text, "$text-muted")


def _slower(advice: Advice) -> str | None:
    """A tier that gives a block later than an engine computes it."""
    compute_s = advice.recompute_block_s
    if compute_s is None:
        return None
    for tier, restore_s in (("memory", advice.memory_block_s), ("ssd", advice.ssd_block_s)):
        if restore_s is not None and restore_s > compute_s:
            took = f"{duration(restore_s)} a block, to compute one takes {duration(compute_s)}"
            return f"{tier} is not worth it: it takes {took}"
    return None


def _larger(now: Snapshot) -> str:
    pool = next(tier for tier in now.tiers if tier.tier == "memory")
    suggested = now.advice.suggested_pool_bytes or 0
    if suggested > pool.capacity_bytes:
        return f"a pool of {format_size(suggested)} would keep most of them"
    return "`pegaflow plan` says what more is worth"


def hints(modes: Sequence[str]) -> Content:
    """What the view leaves out, and keys to begin with."""
    keys = "? help  : commands  / filter  p pause  z faults  M maximise  Enter details  q quit"
    return Content.assemble(*((f"{mode}  ", "bold $warning") for mode in modes), keys)
