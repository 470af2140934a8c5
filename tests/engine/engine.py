"""A vLLM server in a process tree of its own, asked over HTTP and read by its own counters."""

import contextlib
import os
import signal
import time
from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx
from prometheus_client.parser import text_string_to_metric_families

from tests.engine.closing import Closing
from tests.engine.completions import Token, stream_completion
from tests.engine.free_port import free_port
from tests.engine.hits import Hits
from tests.engine.process_tree import ProcessTree
from tests.engine.vllm_install import BLOCK_TOKENS, MAX_TOKENS, VllmInstall
from tests.engine.waiting import wait_until

START_S: Final = 240.0
"""How long a server may take to answer; about 35 s on two idle cores."""

_ANSWER_S: Final = 60.0


@dataclass(frozen=True)
class Completion:
    """The answer to one prompt."""

    tokens: tuple[int, ...]
    gaps: tuple[float, ...]
    """Distance of the two best log-probabilities at each position."""
    first_token_s: float
    hits: Hits
    """Prompt tokens that vLLM did not compute for this prompt."""


class EngineProcess(Closing):
    """vLLM's OpenAI server, started by ``pegaflow vllm``."""

    def __init__(
        self,
        install: VllmInstall,
        model: Path,
        daemon_socket: Path,
        log: Path,
        options: Sequence[str] = (),
    ) -> None:
        self._model = str(model)
        port = free_port()
        command = [
            *install.pegaflow,
            "vllm",
            f"--socket={daemon_socket}",
            "--",
            str(model),
            "--host=127.0.0.1",
            f"--port={port}",
            "--dtype=float32",
            f"--block-size={BLOCK_TOKENS}",
            f"--max-model-len={MAX_TOKENS}",
            "--enforce-eager",
            *install.options,
            *options,
        ]
        self._tree = ProcessTree(command, install.environment(daemon_socket), log)
        self._url = f"http://127.0.0.1:{port}"
        self._http = self.connect()

    @property
    def pid(self) -> int:
        """The first process of the tree."""
        return self._tree.pid

    def wait_ready(self) -> None:
        """Wait until the server answers /health."""
        wait_until(self._is_healthy, "the engine answers /health", START_S)

    def complete(self, prompt: Sequence[int], generate: int) -> Completion:
        """Greedy completion of token ids; one call at a time, or the hits are not its own."""
        before, answered = self.hits(), self._answered()
        tokens: list[int] = []
        gaps: list[float] = []
        first_token_s = 0.0
        began = time.perf_counter()
        for token in self.stream(self._http, prompt, generate, _ANSWER_S):
            if not tokens:
                first_token_s = time.perf_counter() - began
            tokens.append(token.token)
            gaps.append(token.gap)
        wait_until(lambda: self._answered() > answered, "vLLM counts the request", _ANSWER_S)
        hits = self.hits().since(before).of_one_prompt(len(prompt))
        return Completion(tuple(tokens), tuple(gaps), first_token_s, hits)

    def connect(self) -> httpx.Client:
        """Another client of the server."""
        return httpx.Client(base_url=self._url, timeout=_ANSWER_S, trust_env=False)

    def stream(
        self, http: httpx.Client, prompt: Sequence[int], generate: int, timeout_s: float
    ) -> Generator[Token, None, None]:
        """Greedy completion of token ids over ``http``, token by token; many at a time."""
        return stream_completion(http, self._model, prompt, generate, timeout_s)

    def hits(self) -> Hits:
        """The engine's counters so far."""
        counters = self.counters()
        return Hits(
            local=counters["vllm:prefix_cache_hits_total"],
            external=counters["vllm:external_prefix_cache_hits_total"],
            asked=counters["vllm:prefix_cache_queries_total"],
        )

    def counters(self) -> Counter[str]:
        """All counters, each summed over its labels."""
        text = self._http.get("/metrics").raise_for_status().text
        counters: Counter[str] = Counter()
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if sample.name.endswith("_total"):
                    counters[sample.name] += int(sample.value)
        return counters

    def reset(self) -> None:
        """Empty vLLM's own prefix cache; waits until no block is in use."""
        wait_until(self._try_reset, "vLLM resets its prefix cache", _ANSWER_S)

    def processes(self) -> list[int]:
        """The pids of all its living processes."""
        return self._tree.members()

    def pause(self) -> None:
        """SIGSTOP every process of the engine."""
        self._tree.signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT every process of the engine."""
        self._tree.signal(signal.SIGCONT)

    def kill_one(self, pid: int) -> None:
        """SIGKILL one of its processes."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def kill(self) -> int:
        """SIGKILL every process of the engine; returns how many, once all have ended."""
        self._http.close()
        return self._tree.kill()

    def close(self) -> None:
        """As ``kill``."""
        self.kill()

    def _is_healthy(self) -> bool:
        assert not self._tree.has_ended(), f"the engine has ended\n{self._tree.log_tail()}"
        try:
            return self._http.get("/health").is_success
        except httpx.TransportError:
            return False

    def _try_reset(self) -> bool:
        answer = self._http.post("/reset_prefix_cache").raise_for_status()
        return answer.content == b"" or bool(answer.json()["success"])

    def _answered(self) -> int:
        return self.counters()["vllm:request_success_total"]
