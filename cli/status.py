"""``pegaflow status``."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from pegaflow.cli.context import AppContext
from pegaflow.cli.exit_codes import ExitCode
from pegaflow.cli.options import ConfigFile, Json, Socket, Timeout, timeout_seconds
from pegaflow.cli.output import table, write_line, write_tables
from pegaflow.cli.status_fleet import status_of_all
from pegaflow.cli.status_gpus import gpu_lines
from pegaflow.cli.top.sources import named_urls
from pegaflow.config import resolve_socket
from pegaflow.document import parse
from pegaflow.errors import ConfigError
from pegaflow.models import Namespace, RunningOperation, Ssd, Status, TakenOver, Transfers
from pegaflow.units import format_count, format_duration, format_size

if TYPE_CHECKING:
    from rich.table import Table

_MOST_EMPTY: Final = 3
"""So many namespaces without blocks have a row each."""


def status(
    ctx: typer.Context,
    url: Annotated[
        list[str] | None,
        typer.Option(
            "--url",
            metavar="URL",
            help="A daemon's HTTP address, such as http://gpu-7:9091; can be given several times.",
            show_default=False,
        ),
    ] = None,
    all_hosts: Annotated[
        bool, typer.Option("--all", help="The daemons that top.toml names in [hosts].")
    ] = False,
    socket: Socket = None,
    config: ConfigFile = None,
    timeout: Timeout = "5s",
    json: Json = False,
) -> None:
    """Show the daemon, its pool and its engines, or several daemons.

    Exit code 0: it works; 3: no daemon answers; 4: it does not answer in time; 5: it is degraded.
    """
    context: AppContext = ctx.obj
    if url or all_hosts:
        urls = _urls(context, url or (), all_hosts=all_hosts, socket=socket)
        code = status_of_all(context, urls, timeout_seconds(timeout), json=json)
        raise typer.Exit(code)
    address = resolve_socket(socket, config=config, environ=context.environ)
    document = context.connect(address, timeout_seconds(timeout)).status_json()
    status = parse(Status, document)
    if json:
        write_line(context, document)
    else:
        write_tables(context, tables(status))
    if status.state == "degraded":
        raise typer.Exit(ExitCode.PROBLEMS)


def _urls(
    context: AppContext, urls: Sequence[str], *, all_hosts: bool, socket: str | None
) -> Mapping[str, str]:
    """The daemons that are asked for, by name."""
    from pegaflow.observe.settings import find_settings

    if socket is not None:
        raise ConfigError("--socket is of one daemon; leave it, or --url and --all, out")
    hosts = find_settings(None, context.environ).hosts if all_hosts else {}
    if all_hosts and not hosts:
        raise ConfigError("--all finds no daemon; name some in [hosts] of top.toml, or give --url")
    return {**hosts, **named_urls(urls, {})}


def tables(status: Status) -> "Iterator[Table]":
    """The status for people."""
    yield _overview(status)
    if status.engines:
        yield _engines(status)
    if status.namespaces:
        yield _namespaces(status)


def _overview(status: Status) -> "Table":
    overview = table()
    rows = [
        (
            "daemon",
            f"{status.state}, version {status.version}, pid {status.pid}, "
            f"up {format_duration(status.uptime_s)}",
        ),
        *(("", reason) for reason in status.reasons),
        ("socket", status.socket),
        ("http", status.http_addr),
        ("pool", _pool(status)),
        *(("", reason) for reason in [status.pool.fallback] if reason),
        ("", f"size: {_size_origin(status)}"),
        *(("numa", nodes) for nodes in [_nodes(status)] if nodes),
        *_ssd(status),
        *_gpus(status),
        *(("kept", _taken_over(taken_over)) for taken_over in [status.taken_over] if taken_over),
        ("verify", _checksums(status)),
        ("blocks", _blocks(status)),
        *_what_if(status),
        *_recording(status),
        ("saves", _transfers(status.saves)),
        ("loads", _transfers(status.loads)),
        ("leases", f"{status.leases.held:,} held, {format_count(status.leases.blocks, 'block')}"),
        *(("running", _running(operation)) for operation in status.operations),
        ("engines", f"{len(status.engines)} attached"),
    ]
    for row in rows:
        overview.add_row(*row)
    return overview


def _size_origin(status: Status) -> str:
    origin = status.config.pool_size_origin
    if status.pool.is_resized:
        before = format_size(status.config.pool_bytes)
        return f"pegaflow tier resize, until the next start ({origin}: {before})"
    return origin


def _pool(status: Status) -> str:
    pool = status.pool
    text = f"{format_size(pool.used_bytes)} used of {format_size(pool.bytes)}"
    if pool.ready_bytes < pool.bytes:
        text += f", {status.ready_percent:.0f}% ready"
    return f"{text}, {pool.path or 'anonymous memory'} ({pool.kind}), {pool.policy}"


def _nodes(status: Status) -> str:
    nodes = status.pool.nodes
    if len(nodes) == 1:
        return "one node"
    return ", ".join(f"about {format_size(of.bytes)} on node {of.node}" for of in nodes)


def _ssd(status: Status) -> Iterator[tuple[str, str]]:
    if status.ssd is None:
        return
    if not status.ssd.paths:
        yield "ssd", "no path now; `pegaflow tier add-path PATH=SIZE` gives it one"
        return
    for number, path in enumerate(status.ssd.paths):
        text = (
            f"{format_size(path.used_bytes)} used of {format_size(path.capacity_bytes)}, "
            f"{format_count(path.blocks, 'block')}, {path.path} ({path.state}, {path.engine}"
        )
        yield "" if number else "ssd", text + (")" if path.direct else ", buffered)")
        if path.reason:
            yield "", path.reason
    yield from (("", sentence) for sentence in status.ssd.shortages)
    rates = _rates(status.ssd)
    if status.ssd.write_budget_left_bytes is not None:
        rates += f", {format_size(status.ssd.write_budget_left_bytes)} may be written today"
    yield "", rates
    yield "", _traffic(status.ssd)
    if status.ssd.warming and status.ssd.warming.state == "running":
        done, planned = status.ssd.warming.fetched_bytes, status.ssd.warming.planned_bytes
        yield "", f"warming: {format_size(done)} of {format_size(planned)}"


def _rates(ssd: Ssd) -> str:
    """What the disks can do, as far as it is known."""
    measured = {"read": ssd.read_bytes_per_s, "write": ssd.write_bytes_per_s}
    told = [f"{verb} {format_size(int(rate))}/s" for verb, rate in measured.items() if rate]
    return f"disks can {' and '.join(told)}, as measured" if told else "disks were not measured yet"


def _traffic(ssd: Ssd) -> str:
    writes, fetches = ssd.writes, ssd.fetches
    return (
        f"{format_count(writes.blocks, 'block')} written, {writes.queued_blocks:,} waiting; "
        f"{fetches.blocks:,} fetched, {format_size(fetches.queued_bytes)} waiting"
    )


def _gpus(status: Status) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(gpu_lines(status.gpus)):
        yield "" if number else "gpus", line


def _taken_over(taken_over: TakenOver) -> str:
    text = (
        f"{format_count(taken_over.blocks, 'block')} ({format_size(taken_over.bytes)}) of the last "
        f"daemon, taken over in {format_duration(taken_over.duration_s)}"
    )
    if taken_over.dropped_pages:
        text += f", {format_count(taken_over.dropped_pages, 'page')} dropped"
    return text


def _checksums(status: Status) -> str:
    checksums = status.checksums
    return (
        f"{status.config.verify}: {format_count(checksums.verified_pages, 'page')} at loads, "
        f"{checksums.scrubbed_pages:,} in the background, "
        f"{format_count(checksums.corrupt_blocks, 'corrupt block')} dropped"
    )


def _blocks(status: Status) -> str:
    blocks = status.blocks
    if blocks.hit_rate is None:
        return "none asked for yet"
    return (
        f"{blocks.requested:,} asked for: {blocks.memory:,} in memory, {blocks.ssd:,} on ssd, "
        f"{blocks.remote:,} remote, {blocks.miss:,} missed ({blocks.hit_rate:.1%} hits)"
    )


def _what_if(status: Status) -> Iterator[tuple[str, str]]:
    more = status.points_more(2)
    if more is not None:
        yield "", f"twice the pool would hit {more:.1f} points more; see `pegaflow plan --live`"


def _recording(status: Status) -> Iterator[tuple[str, str]]:
    recording = status.recording
    if recording is None:
        return
    text = (
        f"{recording.lookups:,} lookups, {recording.left_out:,} left out, "
        f"{format_size(recording.bytes)} in {recording.directory}"
    )
    if recording.size_bytes is not None:
        text += f", at most {format_size(recording.size_bytes)}"
    yield "records", text
    if recording.error is not None:
        yield "", f"nothing can be written there now: {recording.error}"
    if recording.shortage is not None:
        yield "", recording.shortage


def _transfers(transfers: Transfers) -> str:
    text = (
        f"{transfers.transfers:,} done, {format_count(transfers.blocks, 'block')}, "
        f"{format_size(transfers.bytes)}, {transfers.failures:,} failed, "
        f"{transfers.in_flight:,} under way"
    )
    if transfers.p50_ms is not None and transfers.p99_ms is not None:
        text += f", p50 {transfers.p50_ms:.1f} ms, p99 {transfers.p99_ms:.1f} ms"
    return text


def _running(running: RunningOperation) -> str:
    done = format_size(running.bytes)
    if running.bytes_expected:
        done += f" of {format_size(running.bytes_expected)}"
    return f"{running.operation}, {done}, since {format_duration(running.elapsed_s)}"


def _engines(status: Status) -> "Table":
    engines = table("engine", "model", "workers", "attached", "namespace")
    for engine in status.engines:
        engines.add_row(
            engine.engine_id,
            engine.model,
            f"{len(engine.worker_pids)} of {engine.workers}",
            format_duration(engine.attached_s),
            engine.namespace[:12],
        )
    return engines


def _namespaces(status: Status) -> "Table":
    spaces = table("namespace", "group", "blocks", "bytes", "on ssd", "hits", "misses", "evicted")
    empty = [space for space in status.namespaces if not space.blocks and not space.ssd_blocks]
    folded = empty if len(empty) > _MOST_EMPTY else []
    for space in status.namespaces:
        if space not in folded:
            spaces.add_row(space.namespace[:12], str(space.group), *_cells([space]))
    if folded:
        spaces.add_row(f"{len(folded):,} empty", "", *_cells(folded))
    return spaces


def _cells(spaces: Sequence[Namespace]) -> Iterator[str]:
    """What some namespaces have together."""
    yield f"{sum(space.blocks for space in spaces):,}"
    yield format_size(sum(space.bytes for space in spaces))
    yield format_size(sum(space.ssd_bytes for space in spaces))
    yield f"{sum(space.hits for space in spaces):,}"
    yield f"{sum(space.misses for space in spaces):,}"
    yield f"{sum(space.evictions for space in spaces):,}"
