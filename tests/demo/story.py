"""Eight prompts: a cold engine, its successor after kill -9, another engine, a killed daemon."""

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import jsonschema

from pegaflow.bench.tiny_model import write_tiny_model
from tests.cli.documents import schema
from tests.demo.asking import Asking, wait_attached
from tests.demo.figures import PLACES, DaemonKill, Figures, Row
from tests.demo.report import Report
from tests.engine.daemon import DaemonProcess
from tests.engine.engine import Completion, EngineProcess
from tests.engine.pool_file import all_have_checksums
from tests.engine.prompts import Prompt, distinct_blocks, random_prompt
from tests.engine.vllm_install import BLOCK_TOKENS, VllmInstall
from tests.engine.waiting import wait_until

PREFIX_TOKENS: Final = 8 * BLOCK_TOKENS
PROMPT_TOKENS: Final = (317, 11 * BLOCK_TOKENS, 413, 470, 533, 589, 641, 700)
"""The second one is an exact multiple of the block size."""

_PROGRAM: Final = (sys.executable, "-m", "pegaflow")
"""The command line of this interpreter, also where it is not installed beside it."""

_SEALED_S: Final = 30.0


def shared_prefix_prompts(seed: int) -> list[Prompt]:
    """The eight prompts; they begin alike."""
    source = random.Random(seed)
    prefix = random_prompt(PREFIX_TOKENS, source)
    return [prefix + random_prompt(tokens - PREFIX_TOKENS, source) for tokens in PROMPT_TOKENS]


class Story:
    """One run of the demo."""

    def __init__(self, report: Report, install: VllmInstall) -> None:
        self._report = report
        self._asking = Asking(report, install)

    def tell(self, seed: int) -> Figures:
        """Run it."""
        prompts = shared_prefix_prompts(seed)
        with tempfile.TemporaryDirectory(prefix="pegaflow-demo-") as name:
            directory = Path(name)
            self._report.step("writing a tiny random Llama model (float32, 4 layers)")
            model = write_tiny_model(directory / "model")
            self._report.step("starting the daemon: pegaflow serve")
            with DaemonProcess(program=_PROGRAM) as daemon:
                rows, kill = self._run(prompts, model, directory, daemon)
                asked = self._look(daemon)
        return Figures(
            rows, kill, asked, self._asking.errors, engine_kills=1, seconds=self._report.seconds
        )

    def _run(
        self, prompts: Sequence[Prompt], model: Path, directory: Path, daemon: DaemonProcess
    ) -> tuple[list[Row], DaemonKill]:
        def engine(name: str) -> EngineProcess:
            return self._asking.start(name, model, directory, daemon)

        with engine("engine-1") as first:
            self._asking.warm_up(first, daemon)
            cold = [self._asking.ask(first, prompt) for prompt in prompts]
            self._report.step(f"engine-1 computed {len(prompts)} prompts")
            blocks = distinct_blocks(prompts)
            wait_until(lambda: daemon.blocks() >= blocks, "all blocks are saved", _SEALED_S)
            killed = first.kill()
            self._report.step(f"kill -9: all {killed} processes of engine-1 have ended")

        warm: dict[str, list[Completion | None]] = {}
        with engine("engine-2") as new:
            self._asking.warm_up(new, daemon)
            warm["after_kill"] = [self._asking.ask(new, prompt) for prompt in prompts]
            self._report.step("engine-2 answered the same prompts")

            with engine("engine-3") as other:
                self._asking.warm_up(other, daemon, engines=2)
                warm["second_engine"] = []
                for prompt in prompts:
                    warm["second_engine"].append(self._asking.ask(other, prompt))
                    self._asking.ask(new, prompt)
                self._report.step("engine-3 answered them too, in turn with engine-2")

                kill = self._kill(daemon, engines=2)
                new.reset()
                warm["after_daemon_kill"] = [self._asking.ask(new, prompt) for prompt in prompts]
                self._report.step("engine-2, its own prefix cache emptied, answered them again")
        answers = [dict(zip(warm, row, strict=True)) for row in zip(*warm.values(), strict=True)]
        rows = [Row(*row) for row in zip(prompts, cold, answers, strict=True)]
        return rows, kill

    def _look(self, daemon: DaemonProcess) -> dict[str, int]:
        """Where blocks were found since the daemon's kill, from a document that fits its schema."""
        command = [*_PROGRAM, "top", "--once", "--json", f"--socket={daemon.socket}"]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
        document = json.loads(done.stdout)
        jsonschema.validate(document, schema("top"))
        asked: dict[str, int] = document["blocks"]
        places = " + ".join(f"{asked[place]} {place}" for place in PLACES)
        self._report.step(f"pegaflow top: {asked['requested']} blocks asked for = {places}")
        return asked

    def _kill(self, daemon: DaemonProcess, engines: int) -> DaemonKill:
        pool = Path(daemon.status()["pool"]["path"])
        # A page's checksum, without which no other daemon takes it, comes within a second.
        wait_until(lambda: all_have_checksums(pool), "all pages have their checksums", _SEALED_S)
        before = daemon.blocks()
        daemon.kill()
        first_answer_s = daemon.launch()
        began = time.perf_counter()
        wait_attached(daemon, engines)
        attached_s = time.perf_counter() - began
        self._report.step(
            f"kill -9 of the daemon: the next one answered after {first_answer_s:.2f} s with "
            f"{daemon.blocks()} of {before} blocks; {attached_s:.2f} s later the engines were back"
        )
        return DaemonKill(before, daemon.blocks(), first_answer_s, attached_s)
