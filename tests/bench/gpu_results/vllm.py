"""Warm prompts that arrive at a rate, with and without sequences that decode: real vLLM."""

from collections.abc import Iterator
from typing import Final

from pegaflow.bench.figures import Say
from tests.bench.gpu_results import mix
from tests.bench.gpu_results.one_engine import ACROSS, DEFAULT, OFFLOAD, running
from tests.bench.gpu_results.result import Result, survived

_OFFLOAD_BYTES: Final = 20 << 30


def rows(say: Say) -> Iterator[Result]:
    """One engine after another."""
    yield from survived("vLLM", _rows(say))


def _rows(say: Say) -> Iterator[Result]:
    mixes = mix.Mixes()
    for kind in (OFFLOAD, DEFAULT, ACROSS):
        with running(kind, mix.ARGUMENTS, _OFFLOAD_BYTES, say) as at:
            say(f"warm prompts and decoding: {kind}")
            yield from survived(f"mix, {kind}", mixes.rows(kind, at))
