"""A vLLM engine in a child process, asked by a measurement."""

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pegaflow import transfer_config
from pegaflow.bench.daemon import BenchDaemon
from pegaflow.bench.vllm_site import VllmSite
from pegaflow.bench.waiting import wait_until
from pegaflow.errors import PegaflowError

Prompt = Sequence[int]

_DRIVER: Final = "pegaflow.bench.vllm_driver"
_ATTACH_S: Final = 60.0
_RESET_S: Final = 60.0
_SHORT: Final = 8
"""Tokens of a prompt that leaves nothing in a cache."""
_FIRST_WORD: Final = 4


@dataclass(frozen=True)
class Job:
    """One request: when it comes, its prompt, and how many tokens it wants."""

    prompt: Prompt
    generate: int
    at_s: float = 0.0


@dataclass(frozen=True)
class Result:
    """What became of a request."""

    ttft_ms: float
    """From when it was due to its first token."""
    gaps_ms: tuple[float, ...]
    cached: int
    """Prompt tokens that were not computed."""
    tokens: tuple[int, ...]
    ended_s: float
    """From the beginning of the run."""


def random_prompt(source: random.Random, tokens: int, vocabulary: int) -> Prompt:
    """A prompt of random ids."""
    return [source.randrange(_FIRST_WORD, vocabulary) for _ in range(tokens)]


def ours(socket: str) -> dict[str, Any]:
    """The transfer configuration with our connector."""
    return transfer_config.merge(None, socket)


def vllm_offload(cpu_bytes: int) -> dict[str, Any]:
    """The transfer configuration of vLLM's own offload to host memory."""
    return {
        "kv_connector": "OffloadingConnector",
        "kv_role": "kv_both",
        "kv_connector_extra_config": {"cpu_bytes_to_use": cpu_bytes},
    }


class VllmEngine:
    """An engine that was started; its log is in ``log``."""

    def __init__(
        self,
        site: VllmSite,
        arguments: Mapping[str, Any],
        log: Path,
        connector: Mapping[str, Any] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._log = log
        options = dict(arguments) | ({"kv_transfer_config": connector} if connector else {})
        # Not standard output: vLLM and its libraries write there too.
        answers, answers_end = os.pipe()
        self._began = time.monotonic()
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [site.python, "-P", "-m", _DRIVER, json.dumps(options), str(answers_end)],
                env=site.environment(environment or {}),
                cwd=log.parent,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=[answers_end],
                start_new_session=True,
                encoding="utf-8",
            )
        os.close(answers_end)
        self._answers = os.fdopen(answers, encoding="utf-8")
        self.start_s = 0.0

    def wait_started(self) -> float:
        """Wait until it serves: the seconds from the start of its process."""
        if not self.start_s:
            self._read()
            self.start_s = time.monotonic() - self._began
        return self.start_s

    def send(self, jobs: Sequence[Job]) -> None:
        """Begin to run jobs; ``results`` is to follow."""
        documents = [
            {"tokens": list(job.prompt), "generate": job.generate, "at": job.at_s} for job in jobs
        ]
        self._write({"do": "run", "jobs": documents})

    def results(self) -> list[Result]:
        """Wait for the end of the jobs that were sent."""
        return [
            Result(
                ttft_ms=found["ttft_ms"],
                gaps_ms=tuple(found["gaps_ms"]),
                cached=found["cached"],
                tokens=tuple(found["tokens"]),
                ended_s=found["ended_s"],
            )
            for found in self._read()["answer"]
        ]

    def run(self, jobs: Sequence[Job]) -> list[Result]:
        """Run jobs to their end."""
        self.send(jobs)
        return self.results()

    def one_by_one(self, prompts: Sequence[Prompt], generate: int) -> list[Result]:
        """One request at a time."""
        return [self.run([Job(prompt, generate)])[0] for prompt in prompts]

    def reset(self) -> None:
        """Empty vLLM's own prefix cache; waits until no block is in use."""

        def is_reset() -> bool:
            self._write({"do": "reset"})
            if self._read()["answer"]:
                return True
            self.tick()
            return False

        wait_until(is_reset, "vLLM resets its prefix cache", _RESET_S)

    def tick(self) -> None:
        """Some steps, with a prompt too short for any cache."""
        self.run([Job([_FIRST_WORD] * _SHORT, 2)])

    def wait_attached(self, daemon: BenchDaemon) -> None:
        """Step until ``daemon`` knows it: workers learn from a step which engine they are of."""

        def is_attached() -> bool:
            self.tick()
            return any(
                engine.complete and engine.scheduler_pid == self._process.pid
                for engine in daemon.status().engines
            )

        wait_until(is_attached, "the engine attaches to the daemon", _ATTACH_S)

    def settle(self, daemon: BenchDaemon | None) -> None:
        """Step until all saves have ended; without a daemon to ask, wait a second."""
        self.tick()
        if daemon is None:
            time.sleep(1.0)
            self.tick()
        else:
            wait_until(lambda: daemon.status().saves.in_flight == 0, "saves end", _ATTACH_S)

    def kill(self) -> None:
        """SIGKILL to it and to all that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._answers.close()

    def _write(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        line = self._answers.readline()
        if not line:
            status = self._process.wait()
            raise PegaflowError(f"vLLM has ended with exit status {status}: {self._why()}")
        message: dict[str, Any] = json.loads(line)
        if "failed" in message:
            raise PegaflowError(f"vLLM failed: {message['failed']}")
        return message

    def _why(self) -> str:
        """The last error in the log, else its last line."""
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        errors = [line.strip() for line in lines if "Error: " in line or "Exception: " in line]
        return next(reversed(errors or lines), "its log is empty")


@contextmanager
def running_engine(
    site: VllmSite,
    arguments: Mapping[str, Any],
    log: Path,
    connector: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[VllmEngine]:
    """An engine that serves; it is killed afterwards."""
    engine = VllmEngine(site, arguments, log, connector, environment)
    try:
        engine.wait_started()
        yield engine
    finally:
        engine.kill()
