"""Engines of the demo, and questions to them."""

from pathlib import Path
from typing import Final

import httpx

from tests.demo.report import Report
from tests.engine.daemon import DaemonProcess
from tests.engine.engine import Completion, EngineProcess
from tests.engine.prompts import Prompt, random_prompt
from tests.engine.vllm_install import BLOCK_TOKENS, VllmInstall
from tests.engine.waiting import wait_until

_GENERATE: Final = 16
_WARM_UP_TOKENS: Final = BLOCK_TOKENS // 2
"""Too short for a block, so that it leaves nothing in a cache."""

_ATTACH_S: Final = 30.0


class Asking:
    """Starts engines and asks them; ``errors`` are the sentences of requests that failed."""

    def __init__(self, report: Report, install: VllmInstall) -> None:
        self._report = report
        self._install = install
        self.errors: list[str] = []

    def start(
        self, name: str, model: Path, directory: Path, daemon: DaemonProcess
    ) -> EngineProcess:
        """An engine that is on its way; its log is in ``directory``."""
        self._report.step(f"starting {name}: pegaflow vllm (half a minute on two cores)")
        return EngineProcess(self._install, model, daemon.socket, directory / f"{name}.log")

    def warm_up(self, engine: EngineProcess, daemon: DaemonProcess, engines: int = 1) -> None:
        """Wait until it answers and it and all others are attached."""
        engine.wait_ready()
        self.ask(engine, random_prompt(_WARM_UP_TOKENS))
        # A worker learns in its first step which engine it belongs to.
        wait_attached(daemon, engines)

    def ask(self, engine: EngineProcess, prompt: Prompt) -> Completion | None:
        """Its answer; None if it failed, which ``errors`` then tells."""
        try:
            return engine.complete(prompt, _GENERATE)
        except (httpx.HTTPError, AssertionError) as error:
            self.errors.append(f"a prompt of {len(prompt)} tokens failed: {error}")
            return None


def wait_attached(daemon: DaemonProcess, engines: int) -> None:
    """Wait until so many engines are attached with all their workers."""
    wait_until(lambda: daemon.complete_engines() == engines, "the engines attach", _ATTACH_S)
