"""Eight prompts, a pool too small for them, and a disk that brings the cache back after kill -9."""

import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pegaflow import _native
from pegaflow.bench.tiny_model import write_tiny_model
from tests.demo.asking import Asking
from tests.demo.report import Report
from tests.demo.ssd_figures import SsdFigures, SsdRow
from tests.demo.story import shared_prefix_prompts
from tests.engine.daemon import DaemonProcess
from tests.engine.engine import Completion, EngineProcess
from tests.engine.prompts import Prompt, distinct_blocks, random_prompt
from tests.engine.vllm_install import BLOCK_TOKENS, VllmInstall
from tests.engine.waiting import wait_until

_POOL: Final = "4MiB"
_DISK: Final = "256MiB"
_OTHERS: Final = 4
"""Prompts beside the eight, which come first and go from the pool first."""

_OTHERS_TOKENS: Final = 20 * BLOCK_TOKENS
_WRITTEN_S: Final = 60.0
_WARM_S: Final = 60.0
_PROGRAM: Final = (sys.executable, "-m", "pegaflow")


class SsdStory:
    """One run of the demo of the ssd tier."""

    def __init__(self, report: Report, install: VllmInstall) -> None:
        self._report = report
        self._asking = Asking(report, install)

    def tell(self, seed: int) -> SsdFigures:
        """Run it."""
        prompts = shared_prefix_prompts(seed)
        source = random.Random(seed + 1)
        others = [random_prompt(_OTHERS_TOKENS, source) for _ in range(_OTHERS)]
        with tempfile.TemporaryDirectory(prefix="pegaflow-demo-") as name:
            directory = Path(name)
            self._report.step("writing a tiny random Llama model (float32, 4 layers)")
            model = write_tiny_model(directory / "model")
            # The tiny model computes faster than any disk reads, which is not what is shown here.
            options = [f"--ssd={directory / 'ssd'}={_DISK}", "--min-benefit=0"]
            self._report.step(
                f"starting the daemon: pegaflow serve --pool-size {_POOL} --ssd …={_DISK}"
            )
            with DaemonProcess(pool_size=_POOL, options=options, program=_PROGRAM) as daemon:
                return self._run(prompts, others, model, directory, daemon)

    def _run(
        self,
        prompts: Sequence[Prompt],
        others: Sequence[Prompt],
        model: Path,
        directory: Path,
        daemon: DaemonProcess,
    ) -> SsdFigures:
        with self._asking.start("engine-1", model, directory, daemon) as first:
            self._asking.warm_up(first, daemon)
            cold = self._compute(first, daemon, prompts, others)
            status = daemon.status()
            blocks_on_ssd, pool_bytes = status["ssd"]["blocks"], status["pool"]["bytes"]
            self._report.step(
                f"engine-1 computed {len(prompts) + len(others)} prompts: {blocks_on_ssd} blocks "
                f"({status['ssd']['bytes']} bytes) are on disk, {daemon.blocks()} in the pool"
            )
            bytes_on_ssd = status["ssd"]["bytes"]
            killed = first.kill()
        daemon.kill()
        freed = _native.purge(str(daemon.socket), None)
        self._report.step(
            f"kill -9: all {killed} processes of engine-1 and the daemon have ended; "
            f"pegaflow stop --purge freed {freed} bytes of memory"
        )
        daemon.start()
        warmed = _warm(daemon)
        self._report.step(
            f"pegaflow warm --from ssd: {warmed['blocks']} blocks in {warmed['seconds']:.2f} s; "
            f"the next daemon has {daemon.blocks()} in its pool"
        )
        with self._asking.start("engine-2", model, directory, daemon) as second:
            self._asking.warm_up(second, daemon)
            warm = [self._asking.ask(second, prompt) for prompt in prompts]
            self._report.step("engine-2 answered the same prompts")
            status = daemon.status()
        rows = [SsdRow(*row) for row in zip(prompts, cold, warm, strict=True)]
        return SsdFigures(
            rows=rows,
            errors=self._asking.errors,
            warmed_blocks=warmed["blocks"],
            memory_hit_blocks=status["blocks"]["memory"],
            ssd_hit_blocks=status["blocks"]["ssd"],
            blocks_on_ssd=blocks_on_ssd,
            bytes_on_ssd=bytes_on_ssd,
            pool_bytes=pool_bytes,
            wrong_pages=_wrong_pages(status),
            seconds=self._report.seconds,
        )

    def _compute(
        self,
        engine: EngineProcess,
        daemon: DaemonProcess,
        prompts: Sequence[Prompt],
        others: Sequence[Prompt],
    ) -> list[Completion | None]:
        """The answers to ``prompts``; each prompt's blocks are on disk before the next is asked."""
        asked: list[Prompt] = []
        answers = []
        for prompt in (*others, *prompts):
            asked.append(prompt)
            answers.append(self._asking.ask(engine, prompt))
            _wait_on_disk(daemon, distinct_blocks(asked))
        return answers[len(others) :]


def _wait_on_disk(daemon: DaemonProcess, blocks: int) -> None:
    def are_there() -> bool:
        return bool(daemon.status()["ssd"]["blocks"] >= blocks)

    wait_until(are_there, f"{blocks} blocks are on disk", _WRITTEN_S)


def _warm(daemon: DaemonProcess) -> dict[str, Any]:
    command = [*_PROGRAM, "warm", "--from=ssd", "--json", f"--socket={daemon.socket}"]
    answer = subprocess.run(
        command, check=True, capture_output=True, encoding="utf-8", timeout=_WARM_S
    )
    document: dict[str, Any] = json.loads(answer.stdout)
    return document


def _wrong_pages(status: dict[str, Any]) -> int:
    """Blocks that were not what was saved, wherever they lay."""
    ssd = status["ssd"]
    on_disk: int = sum(path["corrupt_blocks"] for path in ssd["paths"])
    in_memory: int = status["checksums"]["corrupt_blocks"]
    return on_disk + in_memory + int(ssd["fetches"]["corrupt_blocks"])
