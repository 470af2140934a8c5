"""Real vLLM with a GPU cache too small for the prompts, so that each repeat is an external hit."""

import random
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any, Final

from pegaflow.bench.daemon import BenchDaemon, running_daemon
from pegaflow.bench.figures import Say, percentile
from pegaflow.bench.vllm_engine import (
    Job,
    Prompt,
    VllmEngine,
    ours,
    random_prompt,
    vllm_offload,
)
from pegaflow.bench.vllm_site import ModelPlan, VllmSite, plan_model
from pegaflow.errors import PegaflowError
from tests.bench.gpu_results.engines import ACROSS_LAYERS, OFFLOAD, POOL_BYTES
from tests.bench.gpu_results.result import Result, survived

_TOKENS: Final = 10_000
_PROMPTS: Final = 12
_RATE: Final = 4.0
_DECODING: Final = 16
_DECODE_TOKENS: Final = 300
_PASSES: Final = 2
_OFFLOAD_BYTES: Final = 20 << 30

_ARGUMENTS: Final[Mapping[str, Any]] = {
    "enforce_eager": False,
    "max_model_len": _TOKENS + 1024,
    "max_num_batched_tokens": 8192,
    "max_num_seqs": 48,
    "kv_cache_memory_bytes": 8 << 30,
    # All of them are on the GPU at once; vLLM refuses to start where less than this is free.
    "gpu_memory_utilization": 0.25,
    "compilation_config": {
        "mode": 0,
        "cudagraph_mode": "FULL_DECODE_ONLY",
        "cudagraph_capture_sizes": [1, 2, 4, 8, 16, 24],
    },
}


@dataclass(frozen=True)
class Mix:
    """One engine's figures, in ms."""

    warm_mean: float
    warm_p99: float
    gap_p99: float
    """Of the decoding sequences while warm prompts arrive."""
    beside_mean: float
    """TTFT of those prompts."""


Attachment = tuple[BenchDaemon, int]
"""A daemon, and how many engines it has when this one is attached too."""


def rows(say: Say) -> Iterator[Result]:
    """VLLM's own offload, then ours with both layouts; all engines start side by side."""
    yield from survived("mix of warm prompts and decoding", _rows(say))


def _rows(say: Say) -> Iterator[Result]:
    site = VllmSite.of(sys.executable)
    with tempfile.TemporaryDirectory(prefix="pegaflow-results-") as name, ExitStack() as stack:
        directory = Path(name)
        plan = plan_model(site, directory, None, _TOKENS)
        daemon = stack.enter_context(running_daemon(POOL_BYTES))
        kinds: dict[str, tuple[Mapping[str, Any], Mapping[str, str]]] = {
            OFFLOAD: (vllm_offload(_OFFLOAD_BYTES), {}),
            "default layout": (ours(daemon.socket), {}),
            "blocks across layers": (ours(daemon.socket), ACROSS_LAYERS),
        }
        say(f"starting {len(kinds)} engines of vLLM {site.version} with CUDA graphs")
        engines: dict[str, VllmEngine] = {}
        for kind, (connector, environment) in kinds.items():
            log = directory / f"engine-{len(engines)}.log"
            arguments = {**plan.arguments, **_ARGUMENTS}
            engines[kind] = VllmEngine(site, arguments, log, connector, environment)
            stack.callback(engines[kind].kill)
        prompts = _prompts(plan, _PROMPTS, _TOKENS)
        for engine in engines.values():
            with suppress(PegaflowError):
                engine.wait_started()
        theirs: list[Mix] = []
        for number, (kind, engine) in enumerate(engines.items()):
            say(f"warm prompts and decoding: {kind}")
            if kind == OFFLOAD:
                yield from survived(f"mix, {kind}", _their_own(engine, plan, prompts, theirs))
            else:
                rows = _compared(kind, engine, plan, prompts, (daemon, number), theirs)
                yield from survived(f"mix, {kind}", rows)


def _their_own(
    engine: VllmEngine, plan: ModelPlan, prompts: Sequence[Prompt], theirs: list[Mix]
) -> Iterator[Result]:
    """What ours is compared with: it goes into ``theirs``."""
    theirs.append(_measure(engine, plan, prompts, None))
    yield from _judged(OFFLOAD, theirs[0], theirs[0])


def _compared(
    kind: str,
    engine: VllmEngine,
    plan: ModelPlan,
    prompts: Sequence[Prompt],
    attachment: Attachment,
    theirs: Sequence[Mix],
) -> Iterator[Result]:
    """One of ours."""
    mix = _measure(engine, plan, prompts, attachment)
    if not theirs:
        raise PegaflowError(f"{mix} has nothing to be compared with: {OFFLOAD} was not measured")
    yield from _judged(kind, mix, theirs[0])


def _judged(kind: str, mix: Mix, theirs: Mix) -> Iterator[Result]:
    is_ours = kind != OFFLOAD
    how = f"{_PROMPTS} prompts of {_TOKENS:,} tokens at {_RATE:g}/s, {_PASSES} passes"
    against = f"; {OFFLOAD} {theirs.warm_mean} / {theirs.warm_p99} ms" if is_ours else ""
    for statistic, value, other in (
        ("mean", mix.warm_mean, theirs.warm_mean),
        ("p99", mix.warm_p99, theirs.warm_p99),
    ):
        target = other if is_ours else None
        what = f"mix, {kind}: warm TTFT {statistic}"
        yield Result(what, value, "ms", target, "most", how + against)
    how = f"{_DECODING} sequences decode while the warm prompts arrive"
    against = f"; {OFFLOAD} {theirs.gap_p99} and {theirs.beside_mean} ms" if is_ours else ""
    for what, value, most in (
        ("gap between tokens p99", mix.gap_p99, 8.0),
        ("TTFT mean of those prompts", mix.beside_mean, 60.0),
    ):
        target = most if is_ours else None
        yield Result(f"mix, {kind}: {what}", value, "ms", target, "most", how + against)


def _measure(
    engine: VllmEngine,
    plan: ModelPlan,
    prompts: Sequence[Prompt],
    attachment: Attachment | None,
) -> Mix:
    for tokens in (64, 512, _TOKENS):
        engine.one_by_one(_prompts(plan, 1, tokens), 8)
    if attachment is not None:
        engine.wait_attached(*attachment)
    engine.run(_arriving(prompts, 0.3))
    engine.settle(attachment[0] if attachment else None)
    time.sleep(1.0)
    warm = [
        result.ttft_ms for _ in range(_PASSES) for result in engine.run(_arriving(prompts, 0.3))
    ]
    decoding = [Job(prompt, _DECODE_TOKENS) for prompt in _prompts(plan, _DECODING, 256)]
    engine.run(decoding)
    both = engine.run([*decoding, *_arriving(prompts, 0.6)])
    gaps = [gap for result in both[:_DECODING] for gap in result.gaps_ms]
    beside = [result.ttft_ms for result in both[_DECODING:]]
    return Mix(
        warm_mean=round(mean(warm), 2),
        warm_p99=percentile(warm, 99, 2),
        gap_p99=percentile(gaps, 99, 2),
        beside_mean=round(mean(beside), 2),
    )


def _arriving(prompts: Sequence[Prompt], first_s: float) -> list[Job]:
    return [Job(prompt, 1, first_s + number / _RATE) for number, prompt in enumerate(prompts)]


def _prompts(plan: ModelPlan, count: int, tokens: int) -> list[Prompt]:
    source = random.SystemRandom()
    return [random_prompt(source, tokens, plan.vocabulary) for _ in range(count)]
