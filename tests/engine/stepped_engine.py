"""The near end of ``driver.py``: a vLLM engine in a child process, driven step by step."""

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.engine.closing import Closing
from tests.engine.hits import Hits
from tests.engine.same_tokens import assert_same_tokens
from tests.engine.vllm_install import BLOCK_TOKENS, MAX_TOKENS, VllmInstall

_DRIVER: Final = Path(__file__).with_name("driver.py")
_DRAIN_S: Final = 60.0
_END_S: Final = 30.0
_MOST_STEPS_TO_LOAD: Final = 1000

MISSION_CONNECTOR: Final[Mapping[str, object]] = {
    "kv_connector": "PegaKVConnector",
    "kv_role": "kv_both",
    "kv_connector_module_path": "pegaflow.connector",
}
"""What a user writes to use PegaFlow, and nothing more."""


@dataclass(frozen=True)
class Answer:
    """What one request came to."""

    request: str
    tokens: tuple[int, ...]
    gaps: tuple[float, ...]
    """Distance of the two best log-probabilities at each position."""
    cached: int
    """Prompt tokens that were not computed, as vLLM counts them."""
    reason: str

    def assert_same(self, warm: "Answer") -> None:
        """Fail when ``warm``, a later run of the same prompt, gave other tokens."""
        assert warm.reason == self.reason, f"ended by {warm.reason} instead of {self.reason}"
        assert_same_tokens(self.tokens, self.gaps, warm.tokens)


@dataclass(frozen=True)
class Scheduled:
    """What a step is about to execute."""

    loading: tuple[str, ...]
    """Requests that wait for their external blocks."""
    tokens: Mapping[str, int]
    """Tokens to compute, by request."""


class SteppedEngine(Closing):
    """An engine whose steps the test makes. ``arguments`` go to ``vllm.LLM``."""

    def __init__(
        self,
        install: VllmInstall,
        model: Path,
        socket: Path,
        log: Path,
        connector: Mapping[str, object] | None = MISSION_CONNECTOR,
        **arguments: object,
    ) -> None:
        self._log = log
        self._next_request = 0
        llm = {
            "model": str(model),
            "dtype": "float32",
            "block_size": BLOCK_TOKENS,
            "max_model_len": MAX_TOKENS,
            "kv_cache_memory_bytes": 64 << 20,
            "enforce_eager": True,
            "disable_log_stats": False,
            "kv_transfer_config": connector,
        } | arguments
        # Not standard output: vLLM and its libraries write there too.
        answers, answers_end = os.pipe()
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [str(install.python), "-P", str(_DRIVER), json.dumps(llm), str(answers_end)],
                env=install.environment(socket) | {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"},
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=[answers_end],
                encoding="utf-8",
            )
        os.close(answers_end)
        self._answers = os.fdopen(answers, encoding="utf-8")
        self._read()

    @property
    def pid(self) -> int:
        """The process that holds scheduler, worker and KV tensors."""
        return self._process.pid

    def add(self, prompt: Sequence[int], generate: int = 8, salt: str | None = None) -> str:
        """Queue a request; its id, new for each call."""
        self._next_request += 1
        request = f"request-{self._next_request}"
        self._ask("add", request=request, tokens=list(prompt), generate=generate, salt=salt)
        return request

    def step(self, pause: Callable[[Scheduled], None] | None = None) -> list[Answer]:
        """One step; ``pause`` is called when it has been scheduled and not yet executed."""
        self._write({"do": "step", "pause": pause is not None})
        message = self._read()
        if pause is not None and "scheduled" in message:
            scheduled = message["scheduled"]
            pause(Scheduled(tuple(scheduled["loading"]), scheduled["tokens"]))
            self._write({})
            message = self._read()
        return [_answer(finished) for finished in message["answer"]]

    def step_into_load(self, act: Callable[[], None] | None = None) -> None:
        """Step until a load begins; ``act`` is called when it is ordered and not yet begun."""
        loading: list[str] = []

        def note(scheduled: Scheduled) -> None:
            loading.extend(scheduled.loading)
            if loading and act is not None:
                act()

        for _ in range(_MOST_STEPS_TO_LOAD):
            assert self.step(pause=note) == [], "a request ended before the load began"
            if loading:
                return
        raise AssertionError(f"no load began within {_MOST_STEPS_TO_LOAD} steps")

    def drain(self) -> dict[str, Answer]:
        """Steps until the scheduler holds no request: the answers, by request."""
        answers = [_answer(finished) for finished in self._ask("drain", seconds=_DRAIN_S)]
        return {answer.request: answer for answer in answers}

    def generate(self, prompt: Sequence[int], generate: int = 8, salt: str | None = None) -> Answer:
        """One request from start to end."""
        request = self.add(prompt, generate, salt)
        return self.drain()[request]

    def abort(self, request: str) -> None:
        """End a request early."""
        self._ask("abort", request=request)

    def reset(self) -> None:
        """Empty vLLM's own prefix cache, so that only the external one can answer."""
        assert self._ask("reset"), "vLLM still holds blocks and does not reset its prefix cache"

    def hits(self) -> Hits:
        """The scheduler's own counts so far."""
        return Hits(**self._ask("hits"))

    def requests(self) -> dict[str, str]:
        """Status by request, for all that the scheduler holds."""
        return dict(self._ask("requests"))

    def preemptions(self) -> int:
        """Preemptions so far."""
        return int(self._ask("preemptions"))

    def used_blocks(self) -> int:
        """Blocks of vLLM's own pool that are held."""
        return int(self._ask("used_blocks"))

    def close(self) -> None:
        """End the engine in the ordinary way; kill it when that takes too long."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self.kill()
        self._answers.close()

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()
        self._process.wait()

    def _ask(self, do: str, **values: object) -> Any:
        self._write({"do": do} | values)
        return self._read()["answer"]

    def _write(self, message: Mapping[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        line = self._answers.readline()
        if not line:
            self._process.wait(_END_S)
            tail = self._log.read_bytes()[-6000:].decode(errors="replace")
            raise AssertionError(f"the engine has ended; its log ends with\n{tail}")
        message: dict[str, Any] = json.loads(line)
        return message


def _answer(finished: Mapping[str, Any]) -> Answer:
    return Answer(
        request=finished["request"],
        tokens=tuple(finished["tokens"]),
        gaps=tuple(finished["gaps"]),
        cached=finished["cached"],
        reason=finished["reason"],
    )
