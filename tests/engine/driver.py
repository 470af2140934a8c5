"""A vLLM engine in this process, driven step by step over two pipes.

Runs under the Python of the vLLM installation, not of the tests; ``stepped_engine.py`` is its
other end. Arguments: a JSON object of ``LLM`` arguments, and the descriptor for answers. Each line
of standard input is one command and is answered with one line, but a step that was asked to pause
first says what it scheduled and goes on at the next line.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

from vllm import LLM, SamplingParams
from vllm.v1.request import RequestStatus


class Driver:
    """The engine and the commands that it obeys; each public method is a command."""

    def __init__(self, arguments: dict[str, Any], commands: TextIO, answers: TextIO) -> None:
        self._engine = LLM(**arguments).llm_engine
        core = self._engine.engine_core.engine_core
        self._scheduler = core.scheduler
        self._commands = commands
        self._answers = answers
        self._pauses = False
        self._execute: Callable[..., Any] = core.model_executor.execute_model
        core.model_executor.execute_model = self._execute_after_pause
        self._hits = {"local": 0, "external": 0, "asked": 0}
        self._make_stats: Callable[..., Any] = self._scheduler.make_stats
        self._scheduler.make_stats = self._make_counted_stats

    def serve(self) -> None:
        """Obey until the input ends."""
        self._say({"ready": True})
        for line in self._commands:
            command = json.loads(line)
            answer = getattr(self, command.pop("do"))(**command)
            self._say({"answer": answer})

    def add(self, request: str, tokens: list[int], generate: int, salt: str | None) -> None:
        """Queue a greedy request for ``generate`` tokens."""
        prompt: dict[str, Any] = {"prompt_token_ids": tokens}
        if salt is not None:
            prompt["cache_salt"] = salt
        greedy = SamplingParams(
            max_tokens=generate, temperature=0.0, logprobs=2, ignore_eos=True, detokenize=False
        )
        self._engine.add_request(request, prompt, greedy)

    def step(self, pause: bool) -> list[dict[str, Any]]:
        """One step of the engine: the requests that it finished."""
        self._pauses = pause
        outputs = self._engine.step()
        self._pauses = False
        return [_finished(output) for output in outputs if output.finished]

    def drain(self, seconds: float) -> list[dict[str, Any]]:
        """Steps until the scheduler holds nothing: the requests that finished meanwhile."""
        deadline = time.monotonic() + seconds
        finished = []
        while self._scheduler.has_requests():
            if time.monotonic() > deadline:
                raise TimeoutError(f"the scheduler still holds {list(self._scheduler.requests)}")
            finished += self.step(pause=False)
        return finished

    def abort(self, request: str) -> None:
        """End a request as a client that has gone away does."""
        self._engine.abort_request([request])

    def reset(self) -> bool:
        """Forget vLLM's own prefix cache; False when a block is still in use."""
        return bool(self._engine.reset_prefix_cache())

    def hits(self) -> dict[str, int]:
        """Prompt tokens that the scheduler found so far, local and external, and looked for."""
        return self._hits

    def requests(self) -> dict[str, str]:
        """The status of each request that the scheduler holds, also of finished ones."""
        return {
            request.request_id: request.status.name for request in self._scheduler.requests.values()
        }

    def preemptions(self) -> int:
        """How often a request lost its blocks so far."""
        return sum(
            int(metric.value)
            for metric in self._engine.get_metrics()
            if metric.name == "vllm:num_preemptions"
        )

    def used_blocks(self) -> int:
        """Blocks of vLLM's pool that somebody holds, besides the null block."""
        pool = self._scheduler.kv_cache_manager.block_pool
        return int(pool.num_gpu_blocks - pool.get_num_free_blocks() - 1)

    def _execute_after_pause(self, scheduled: Any, *rest: Any, **named: Any) -> Any:
        if self._pauses:
            loading = [
                request.request_id
                for request in self._scheduler.requests.values()
                if request.status is RequestStatus.WAITING_FOR_REMOTE_KVS
            ]
            tokens = dict(scheduled.num_scheduled_tokens)
            self._say({"scheduled": {"loading": loading, "tokens": tokens}})
            self._commands.readline()
        return self._execute(scheduled, *rest, **named)

    def _make_counted_stats(self, *arguments: Any, **named: Any) -> Any:
        # Counted here, since vLLM 0.26 in one process logs nothing of a step without a token.
        stats = self._make_stats(*arguments, **named)
        self._hits["local"] += stats.prefix_cache_stats.hits
        self._hits["asked"] += stats.prefix_cache_stats.queries
        if stats.connector_prefix_cache_stats is not None:
            self._hits["external"] += stats.connector_prefix_cache_stats.hits
        return stats

    def _say(self, message: dict[str, Any]) -> None:
        self._answers.write(json.dumps(message) + "\n")
        self._answers.flush()


def _finished(output: Any) -> dict[str, Any]:
    completion = output.outputs[0]
    gaps = []
    for position in completion.logprobs or []:
        best = sorted((choice.logprob for choice in position.values()), reverse=True)
        gaps.append(best[0] - best[1])
    return {
        "request": output.request_id,
        "tokens": list(completion.token_ids),
        "gaps": gaps,
        "cached": output.num_cached_tokens,
        "reason": completion.finish_reason,
    }


if __name__ == "__main__":
    with os.fdopen(int(sys.argv[2]), "w", encoding="utf-8") as pipe:
        Driver(json.loads(sys.argv[1]), sys.stdin, pipe).serve()
