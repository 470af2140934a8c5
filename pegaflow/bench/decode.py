"""How much longer a model's decoding steps take while blocks are saved and loaded."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from pegaflow.bench.engine import BenchEngine, fresh_hashes
from pegaflow.bench.figures import percentile, rate
from pegaflow.bench.requirement import required

_LAYERS: Final = 32
_HIDDEN: Final = 4096
_INTERMEDIATE: Final = 14336
_HEADS: Final = 32
_KV_HEADS: Final = 8
_HEAD_DIM: Final = 128
_CONTEXT: Final = 4096
_SEQUENCES: Final = 16
_STEPS: Final = 500
_WARM_UP_STEPS: Final = 50
_IN_FLIGHT: Final = 2
"""Transfers of one direction that are under way at any time, so that copies never pause."""


@dataclass(frozen=True)
class Steps:
    """Times of decoding steps, and what was copied meanwhile."""

    mean_ms: float
    p99_ms: float
    gb_s: float

    def rise(self, alone: "Steps") -> tuple[float, float]:
        """Per cent that mean and p99 are above those of ``alone``."""
        return (
            round(100 * (self.mean_ms / alone.mean_ms - 1), 1),
            round(100 * (self.p99_ms / alone.p99_ms - 1), 1),
        )


class Model(Protocol):
    """What decodes."""

    def steps(self, between: Callable[[], None]) -> list[float]:
        """Milliseconds of each step; ``between`` is called after each, outside of the time."""


class DecodeModel:
    """The matrices and attention of an 8B model, 16 sequences, one CUDA graph a step."""

    def __init__(self) -> None:
        torch = self._torch = required("torch")
        options = {"device": "cuda", "dtype": torch.bfloat16}
        up = [torch.randn(_INTERMEDIATE, _HIDDEN, **options) for _ in range(_LAYERS)]
        down = [torch.randn(_HIDDEN, _INTERMEDIATE, **options) for _ in range(_LAYERS)]
        hidden = torch.randn(_SEQUENCES, _HIDDEN, **options)
        cache = torch.randn(_SEQUENCES, _KV_HEADS, _CONTEXT, _HEAD_DIM, **options)
        query = torch.randn(_SEQUENCES, _HEADS, 1, _HEAD_DIM, **options)
        attention = torch.nn.functional.scaled_dot_product_attention

        def step() -> Any:
            now = hidden
            for widen, narrow in zip(up, down, strict=True):
                attention(query, cache, cache, enable_gqa=True)
                now = (now @ widen.t()) @ narrow.t()
            return now

        for _ in range(3):
            step()
        torch.cuda.synchronize()
        self._stream = torch.cuda.Stream()
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            step()

    def steps(self, between: Callable[[], None]) -> list[float]:
        """Milliseconds of each step; ``between`` is called after each, outside of the time."""
        laps = []
        with self._torch.cuda.stream(self._stream):
            for number in range(_WARM_UP_STEPS + _STEPS):
                began = time.perf_counter()
                self._graph.replay()
                self._stream.synchronize()
                if number >= _WARM_UP_STEPS:
                    laps.append(1000 * (time.perf_counter() - began))
                between()
        return laps


class Copies:
    """Saves, loads or both of an engine, under way all the time; ``pump`` is to be called often.

    An engine with a quarter of its blocks for each transfer.
    """

    def __init__(self, engine: BenchEngine, kinds: Sequence[str]) -> None:
        self._engine = engine
        self._part = engine.layout.num_blocks // (2 * _IN_FLIGHT)
        self._cached = fresh_hashes(self._part)
        engine.save(self._cached, range(self._part))
        self._in_flight: dict[int, tuple[str, int]] = {}
        self.moved_bytes = 0
        for lane in range(_IN_FLIGHT):
            for kind in kinds:
                self._start(kind, lane)

    def pump(self) -> None:
        """Start the next of each that has ended."""
        for end in self._engine.poll():
            self.moved_bytes += end.bytes
            self._start(*self._in_flight.pop(end.transfer_id))

    def finish(self) -> None:
        """Wait until none is under way."""
        while self._in_flight:
            for end in self._engine.poll():
                del self._in_flight[end.transfer_id]
            time.sleep(0.001)

    def _start(self, kind: str, lane: int) -> None:
        first = self._part * (lane + (_IN_FLIGHT if kind == "load" else 0))
        blocks = range(first, first + self._part)
        if kind == "load":
            transfer = self._engine.start_load(self._cached, blocks)
        else:
            transfer = self._engine.start_save(fresh_hashes(self._part), blocks)
        self._in_flight[transfer] = (kind, lane)


def measure_alone(model: Model) -> Steps:
    """Steps with nothing beside them."""
    return _steps(model, lambda: None, lambda: 0)


def measure_beside(model: Model, engine: BenchEngine, kinds: Sequence[str]) -> Steps:
    """Steps while ``engine``, of this process, saves, loads, or does both."""
    copies = Copies(engine, kinds)
    steps = _steps(model, copies.pump, lambda: copies.moved_bytes)
    copies.finish()
    return steps


def _steps(model: Model, pump: Callable[[], None], moved: Callable[[], int]) -> Steps:
    before, began = moved(), time.perf_counter()
    laps = model.steps(pump)
    gb_s = rate(moved() - before, time.perf_counter() - began)
    return Steps(round(statistics.mean(laps), 4), percentile(laps, 99, 4), gb_s)
