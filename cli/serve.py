"""``pegaflow serve``."""

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Annotated, Final

import typer

from pegaflow.cli.context import AppContext
from pegaflow.cli.detach import (
    Announcement,
    held_pid_file,
    start_detached,
    successor,
    wait_for_end,
    warn,
)
from pegaflow.cli.options import ConfigFile, Json, Timeout, setting, timeout_seconds
from pegaflow.cli.output import note, write_json, write_line
from pegaflow.cli.waiting import waiting
from pegaflow.config import SETTINGS, DaemonConfig, Loaded, load, suspicious_variables
from pegaflow.document import parse
from pegaflow.models import Ready
from pegaflow.units import format_count, format_size
from pegaflow.version import VERSION

_MOST_PIDS: Final = 1 << 22
"""The kernel's largest ``pid_max``."""


def serve(
    ctx: typer.Context,
    http_token_file: Annotated[str | None, setting("http_token_file")] = None,
    pool_size: Annotated[str | None, setting("pool_size")] = None,
    pool_dir: Annotated[str | None, setting("pool_dir")] = None,
    socket: Annotated[str | None, setting("socket")] = None,
    socket_group: Annotated[str | None, setting("socket_group")] = None,
    http_addr: Annotated[str | None, setting("http_addr")] = None,
    eviction_policy: Annotated[str | None, setting("eviction_policy")] = None,
    verify: Annotated[str | None, setting("verify")] = None,
    scrub_period: Annotated[str | None, setting("scrub_period")] = None,
    ssd: Annotated[list[str] | None, setting("ssd")] = None,
    ssd_engine: Annotated[str | None, setting("ssd_engine")] = None,
    ssd_admission: Annotated[str | None, setting("ssd_admission")] = None,
    ssd_write_budget: Annotated[str | None, setting("ssd_write_budget")] = None,
    ssd_fetch_bytes: Annotated[str | None, setting("ssd_fetch_bytes")] = None,
    min_benefit: Annotated[str | None, setting("min_benefit")] = None,
    warm_on_start: Annotated[bool | None, setting("warm_on_start")] = None,
    record_dir: Annotated[str | None, setting("record_dir")] = None,
    record_size: Annotated[str | None, setting("record_size")] = None,
    otlp_endpoint: Annotated[str | None, setting("otlp_endpoint")] = None,
    lease_ttl: Annotated[str | None, setting("lease_ttl")] = None,
    copy_threads: Annotated[str | None, setting("copy_threads")] = None,
    copy_strategy: Annotated[str | None, setting("copy_strategy")] = None,
    max_rate: Annotated[str | None, setting("max_rate")] = None,
    drain_timeout: Annotated[str | None, setting("drain_timeout")] = None,
    log_level: Annotated[str | None, setting("log_level")] = None,
    log_format: Annotated[str | None, setting("log_format")] = None,
    log_file: Annotated[str | None, setting("log_file")] = None,
    pid_file: Annotated[str | None, setting("pid_file")] = None,
    config: ConfigFile = None,
    detach: Annotated[
        bool,
        typer.Option("--detach", help="Run in the background; return once the daemon answers."),
    ] = False,
    detached: Annotated[bool, typer.Option("--detached", hidden=True)] = False,
    successor_of: Annotated[
        int | None, typer.Option("--successor-of", min=1, max=_MOST_PIDS, hidden=True)
    ] = None,
    timeout: Timeout = "30s",
    json: Json = False,
) -> None:
    """Run the daemon that keeps the cache.

    Writes one line when it answers. SIGTERM, Ctrl-C and `pegaflow stop` let it finish
    the transfers in flight first.
    """
    context: AppContext = ctx.obj
    # An option that may be given several times is an empty tuple when it is not.
    flags = {key: text for key, text in ctx.params.items() if key in SETTINGS and text != ()}
    loaded = load(flags, config=config, environ=context.environ)
    for sentence in suspicious_variables(context.environ):
        note(context, sentence)
    if detach:
        with waiting(context, "starting the daemon"):
            started = start_detached(loaded, context.environ, timeout_seconds(timeout))
        _announce(context, started, json)
        return
    if successor_of is not None:
        wait_for_end(successor_of)
    _run(context, loaded, json, successor(loaded) if detached else [])


def _run(context: AppContext, loaded: Loaded, json: bool, successor: Sequence[str]) -> None:
    daemon = DaemonConfig.of(loaded)
    if loaded.config.pool_size is None:
        note(context, f"pool_size {daemon.pool_size_origin}: {format_size(daemon.pool_bytes)}")
    pid_file = loaded.config.pid_file
    with ExitStack() as stack:

        def ready(text: str) -> None:
            # Only now: a second daemon on the same socket must not touch the first one's file.
            if pid_file is not None:
                stack.enter_context(held_pid_file(Path(pid_file)))
            # Whether or not somebody still reads the line, the daemon is what was asked for.
            with suppress(BrokenPipeError):
                _announce(context, Announcement(parse(Ready, text), None, pid_file), json)

        context.serve(daemon.to_json(), ready, successor)


def _announce(context: AppContext, announcement: Announcement, json: bool) -> None:
    ready = announcement.ready
    warn(context, ready)
    if json:
        write_json(context, "ready", announcement.document())
        return
    text = (
        f"pegaflow {VERSION} is ready: socket {ready.socket}, http {ready.http_addr}, "
        f"pool {format_size(ready.pool_bytes)} ({ready.pool_kind}), pid {ready.pid}"
    )
    if ready.taken_over_blocks:
        taken_over = format_size(ready.taken_over_bytes)
        text += f", {format_count(ready.taken_over_blocks, 'block')} ({taken_over}) taken over"
    if announcement.log_file is not None:
        text += f", log {announcement.log_file}"
    write_line(context, text)
