"""The negative control: with the bytes of a cached block swapped, the tokens must differ.

Were they the same, the demo would prove nothing: the engine would not have used the cache.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pegaflow.bench.tiny_model import write_tiny_model
from tests.demo.report import Report
from tests.engine.attaching import wait_attached
from tests.engine.daemon import DaemonProcess
from tests.engine.pool_file import sealed_pages, swap_bytes
from tests.engine.prompts import Prompt, full_block_tokens, random_prompt
from tests.engine.stepped_engine import Answer, SteppedEngine
from tests.engine.vllm_install import BLOCK_TOKENS, VllmInstall

_ATTACH_S: Final = 5.0
_PROMPT_BLOCKS: Final = 10
_PROMPT_TOKENS: Final = _PROMPT_BLOCKS * BLOCK_TOKENS + 1
"""Ends within a block that the answer does not fill: all blocks cached are the prompt's."""

_GENERATE: Final = 16
_LEAST_NOISE: Final = 1e-6
"""Below what float32 log-probabilities resolve."""


@dataclass(frozen=True)
class Control:
    """A prompt computed, loaded untouched, and loaded with the bytes of one block swapped."""

    cold: Answer
    untouched: Answer
    swapped: Answer

    @property
    def noise(self) -> float:
        """How far two runs with the right bytes are apart, in log-probability."""
        pairs = zip(self.cold.gaps, self.untouched.gaps, strict=True)
        return max(_LEAST_NOISE, *(abs(cold - warm) for cold, warm in pairs))

    def differing(self, warm: Answer) -> int:
        """At how many of the positions above the noise ``warm`` has another token."""
        positions = zip(self.cold.tokens, self.cold.gaps, warm.tokens, strict=True)
        return sum(gap > self.noise and cold != found for cold, gap, found in positions)

    @property
    def has_shown_it(self) -> bool:
        """Whether right bytes gave the same tokens and swapped ones did not."""
        return self.differing(self.untouched) == 0 and self.differing(self.swapped) > 0

    @property
    def positions_above_noise(self) -> int:
        """Positions whose two best tokens the noise cannot exchange."""
        return sum(gap > self.noise for gap in self.cold.gaps)

    def document(self) -> dict[str, Any]:
        """The JSON line."""
        return {
            "control": "swapped bytes",
            "tokens": len(self.cold.tokens),
            "noise": self.noise,
            "positions_above_noise": self.positions_above_noise,
            "differing_untouched": self.differing(self.untouched),
            "differing_swapped": self.differing(self.swapped),
            "shown": self.has_shown_it,
        }


def run_control(report: Report, install: VllmInstall) -> Control:
    """Run it: one engine that is asked one prompt three times, and another in between.

    The bytes are swapped with those of the other prompt: two blocks of one prompt could change
    places unseen, since a key has its token's position in it and attention asks for no order.
    """
    prompt, other = (random_prompt(_PROMPT_TOKENS) for _ in range(2))
    with tempfile.TemporaryDirectory(prefix="pegaflow-control-") as name, DaemonProcess() as daemon:
        directory = Path(name)
        model = write_tiny_model(directory / "model")
        report.step("starting daemon and engine")
        with SteppedEngine(install, model, daemon.socket, directory / "engine.log") as engine:
            wait_attached(engine, daemon, _ATTACH_S)
            cold = engine.generate(prompt, _GENERATE)
            pool = Path(daemon.status()["pool"]["path"])
            own = set(sealed_pages(pool))
            assert len(own) == _PROMPT_BLOCKS, f"{len(own)} pages instead of {_PROMPT_BLOCKS}"
            untouched = _load(engine, prompt)
            report.step("the prompt was computed once and loaded once, with the right bytes")
            engine.generate(other, _GENERATE)
            strange = set(sealed_pages(pool)) - own
            swap_bytes(pool, own.pop(), strange.pop())
            report.step("the bytes of a cached block are swapped with those of another prompt's")
            return Control(cold, untouched, swapped=_load(engine, prompt))


def _load(engine: SteppedEngine, prompt: Prompt) -> Answer:
    engine.reset()
    before = engine.hits()
    answer = engine.generate(prompt, _GENERATE)
    loaded = engine.hits().since(before).external
    assert loaded == full_block_tokens(prompt), f"{loaded} tokens were loaded"
    return answer
