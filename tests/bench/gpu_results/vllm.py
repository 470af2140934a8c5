"""Warm prompts that arrive at a rate, with and without sequences that decode: real vLLM."""

from collections.abc import Iterator
from typing import Final

from pegaflow.bench.figures import Say
from tests.bench.gpu_results import mix
from tests.bench.gpu_results.result import Result, survived
from tests.bench.gpu_results.side_by_side import ACROSS, DEFAULT, OFFLOAD, started

_OFFLOAD_BYTES: Final = 20 << 30


def rows(say: Say) -> Iterator[Result]:
    """One engine after another."""
    yield from survived("vLLM", _rows(say))


def _rows(say: Say) -> Iterator[Result]:
    with started((OFFLOAD, DEFAULT, ACROSS), mix.ARGUMENTS, _OFFLOAD_BYTES, say) as compared:
        mixes = mix.Mixes(compared.plan)
        for kind, engine in compared.engines.items():
            say(f"warm prompts and decoding: {kind}")
            found = mixes.rows(kind, engine, compared.daemon_of(kind))
            yield from survived(f"mix, {kind}", found)
