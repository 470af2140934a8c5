"""``pegaflow plan``."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from pegaflow.cli.context import AppContext
from pegaflow.cli.daemon import daemon
from pegaflow.cli.options import ConfigFile, Json, Socket, Timeout, size_field
from pegaflow.cli.output import write_json, write_line, write_tables
from pegaflow.cli.plan_live import show_live
from pegaflow.cli.plan_options import refuse_others
from pegaflow.cli.plan_text import document, tables
from pegaflow.cli.trace.options import MOST_BLOCK_TOKENS
from pegaflow.cli.trace_reading import counting_progress, notes, reading_progress
from pegaflow.config import SETTINGS
from pegaflow.errors import ConfigError
from pegaflow.file_names import shown_name
from pegaflow.whole_file import whole_file

if TYPE_CHECKING:
    from pegaflow.planning import BytesPerToken, Trace

_MOST_BLOCKS: Final = 1 << 40
_MOST_OF_A_SHAPE: Final = 1 << 20
_MOST_SHARED_TOKENS: Final = 1 << 24


def plan(
    ctx: typer.Context,
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace",
            metavar="FILE",
            help="A trace: Mooncake or Qwen-Bailian JSONL, Azure or BurstGPT CSV, vLLM's log; "
            "a folder of what `serve --record-dir` recorded.",
            show_default=False,
        ),
    ] = None,
    live: Annotated[
        bool,
        typer.Option(
            "--live",
            help="Ask the running daemon what pools of other sizes would have hit, instead of a "
            "trace.",
        ),
    ] = False,
    capacity_blocks: Annotated[
        list[int] | None,
        typer.Option(
            "--capacity-blocks",
            min=1,
            max=_MOST_BLOCKS,
            help="A size in blocks; can be given several times. [default: 20 sizes]",
            show_default=False,
        ),
    ] = None,
    capacity: Annotated[
        list[str] | None,
        typer.Option(
            "--capacity",
            metavar="SIZE",
            help="A size in bytes, such as 500GiB, for a model; can be given several times.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            "--model",
            metavar="PATH",
            help="A model's config.json, or a folder with one.",
            show_default=False,
        ),
    ] = None,
    bytes_per_token: Annotated[
        str | None,
        typer.Option(
            "--bytes-per-token",
            metavar="SIZE",
            help="Bytes of KV cache for a token, instead of --model.",
            show_default=False,
        ),
    ] = None,
    layers: Annotated[
        int | None,
        typer.Option(
            "--layers",
            min=1,
            max=_MOST_OF_A_SHAPE,
            help="Layers of plain attention, with --kv-heads and --head-dim, instead of --model.",
            show_default=False,
        ),
    ] = None,
    kv_heads: Annotated[
        int | None,
        typer.Option(
            "--kv-heads",
            min=1,
            max=_MOST_OF_A_SHAPE,
            help="Heads of keys and values.",
            show_default=False,
        ),
    ] = None,
    head_dim: Annotated[
        int | None,
        typer.Option(
            "--head-dim",
            min=1,
            max=_MOST_OF_A_SHAPE,
            help="Values of a head.",
            show_default=False,
        ),
    ] = None,
    kv_cache_dtype: Annotated[
        str, typer.Option("--kv-cache-dtype", help="The type of the KV cache, such as fp8.")
    ] = "auto",
    block_tokens: Annotated[
        int | None,
        typer.Option(
            "--block-tokens",
            min=1,
            max=MOST_BLOCK_TOKENS,
            help="Tokens of a block. [default: 512 for Mooncake, else 16]",
            show_default=False,
        ),
    ] = None,
    count_partial: Annotated[
        bool,
        typer.Option(
            "--count-partial",
            help="Count the partial block at each prompt's end too; engines cache full ones only.",
        ),
    ] = False,
    shared_tokens: Annotated[
        int,
        typer.Option(
            "--shared-tokens",
            min=0,
            max=_MOST_SHARED_TOKENS,
            help="Tokens that all prompts begin with, for traces that have no content.",
        ),
    ] = 0,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Go on behind lines that cannot be used.")
    ] = False,
    sort_times: Annotated[
        bool,
        typer.Option("--sort-times", help="Sort the requests by time; needs memory for them all."),
    ] = False,
    ssd_blocks: Annotated[
        list[int] | None,
        typer.Option(
            "--ssd-blocks",
            min=1,
            max=_MOST_BLOCKS,
            help="A size of the ssd tier in blocks; can be given several times. "
            "[default: 1, 2, 4 and 8 times the recommended memory]",
            show_default=False,
        ),
    ] = None,
    prefill_rate: Annotated[
        float | None,
        typer.Option(
            "--prefill-rate",
            metavar="TOKENS",
            min=1,
            max=1e12,
            help="Tokens of prompts that an engine computes a second.",
            show_default=False,
        ),
    ] = None,
    load_rate: Annotated[
        str | None,
        typer.Option(
            "--load-rate",
            metavar="SIZE",
            help="Bytes a second from memory to an engine, such as 20gb.",
            show_default=False,
        ),
    ] = None,
    ssd_rate: Annotated[
        str | None,
        typer.Option(
            "--ssd-rate",
            metavar="SIZE",
            help="Bytes a second from the ssd tier, such as 5gb.",
            show_default=False,
        ),
    ] = None,
    measured: Annotated[
        list[Path] | None,
        typer.Option(
            "--measured",
            metavar="FILE",
            help="What `pegaflow bench transfer --json` or `ttft --json` wrote, for rates that "
            "are not given; can be given several times.",
            show_default=False,
        ),
    ] = None,
    instances: Annotated[
        int,
        typer.Option("--instances", min=1, max=1024, help="Engines that could have private pools."),
    ] = 8,
    policy: Annotated[
        str,
        typer.Option(
            "--policy",
            metavar=SETTINGS["eviction_policy"].kind.metavar,
            help="The policy to recommend a size for.",
        ),
    ] = "density",
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            help="Draw the curves, as .svg, or as .png with pegaflow-kv[plot].",
            show_default=False,
        ),
    ] = None,
    socket: Socket = None,
    config: ConfigFile = None,
    timeout: Timeout = "5s",
    json: Json = False,
) -> None:
    """Say how large a cache a trace of requests is worth, and why."""
    from pegaflow.planning import (
        BytesPerToken,
        Rates,
        ReadOptions,
        Worth,
        break_even_bytes_s,
        loadings,
        make_plan,
        read_trace,
    )
    from pegaflow.planning import measured as with_measured
    from pegaflow.planning.chart import check_name, picture
    from pegaflow.planning.plan import BELADY, capacities
    from pegaflow.planning.terminal import text_plot

    context: AppContext = ctx.obj
    if live == (trace is not None):
        raise ConfigError("plan needs a trace or a daemon: give one of --trace FILE and --live")
    refuse_others(ctx, live=live)
    if trace is None:
        show_live(context, daemon(context, socket, config, timeout).status(), json)
        return
    if plot is not None:
        check_name(plot)
    shape = {"layers": layers, "kv_heads": kv_heads, "head_dim": head_dim}
    token = _token_bytes(model, bytes_per_token, kv_cache_dtype, shape)
    rates = with_measured(
        measured or [],
        Rates(prefill_rate, _size("--load-rate", load_rate), _size("--ssd-rate", ssd_rate)),
    )
    options = ReadOptions(block_tokens, count_partial, shared_tokens, skip_bad, sort_times)
    recorded = read_trace(trace, options, reading_progress(context))
    size = recorded.block_bytes
    if token is None and size is not None and size >= recorded.block_tokens:
        formula = f"{size} bytes a block, as recorded"
        token = BytesPerToken(size // recorded.block_tokens, "recorded", formula)
    sizes = _sizes(capacity_blocks, capacity, recorded, token) or capacities(recorded)
    policies = [name for name in recorded.recorded.policies() if name != BELADY]
    if policy not in policies:
        raise ConfigError(f"--policy {policy!r} is not known; allowed: {', '.join(policies)}")
    worth, break_even = Worth(), None
    if token is not None:
        block = recorded.block_tokens
        worth = Worth(token.block_bytes(block), loadings(rates, token, block))
        break_even = break_even_bytes_s(rates, token, block)
    progress = counting_progress(context)
    ssd_sizes = sorted(set(ssd_blocks or []))
    planned = make_plan(recorded, sizes, policy, instances, ssd_sizes, worth, progress)
    if plot is not None:
        with whole_file(plot, replace=True) as file:
            file.write(picture(planned, f"Blocks hit of {shown_name(trace.name)}", plot))
    notes(context, recorded)
    if json:
        write_json(context, "plan", document(recorded, token, planned, worth, break_even))
    else:
        write_tables(context, tables(recorded, token, planned, worth, break_even))
        if len(sizes) > 1:
            write_line(context, "\n" + "\n".join(text_plot(planned)))
        write_line(context, f"\n{planned.recommendation}.")


def _token_bytes(
    model: Path | None,
    given: str | None,
    kv_cache_dtype: str,
    shape: Mapping[str, int | None],
) -> "BytesPerToken | None":
    from pegaflow.planning import BytesPerToken, bytes_per_token

    size = _size("--bytes-per-token", given)
    if size is not None:
        return BytesPerToken(size, "given", f"{size} bytes, as given")
    known = {name: number for name, number in shape.items() if number is not None}
    if model is None and not known:
        return None
    return bytes_per_token(model, kv_cache_dtype, known)


def _size(option: str, text: str | None) -> int | None:
    """Bytes of an option, more than none."""
    return None if text is None else size_field(option, text)


def _sizes(
    blocks: list[int] | None,
    sizes: list[str] | None,
    trace: "Trace",
    token: "BytesPerToken | None",
) -> list[int]:
    wanted = list(blocks or [])
    for text in sizes or []:
        if token is None:
            raise ConfigError(
                "--capacity in bytes needs the bytes of a token: give --model or "
                "--bytes-per-token, or --capacity-blocks"
            )
        block_bytes = token.block_bytes(trace.block_tokens)
        count = max(size_field("--capacity", text) // block_bytes, 1)
        if count > _MOST_BLOCKS:
            raise ConfigError(
                f"--capacity {text!r} is {count:,} blocks, allowed are at most {_MOST_BLOCKS:,}"
            )
        wanted.append(count)
    return sorted(set(wanted))
