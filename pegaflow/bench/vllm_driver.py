"""A vLLM engine in this process that obeys lines of JSON; ``vllm_engine`` is its other end.

Runs under the Python of the vLLM installation. Arguments: a JSON object of ``LLM`` arguments, and
the descriptor for answers. Each line of standard input is one command and gets one line back.
"""

import json
import os
import sys
import time
from typing import Any, TextIO

Job = dict[str, Any]


class Driver:
    """The engine; each public method but ``serve`` is a command."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        from vllm import LLM

        self._engine = LLM(**arguments).llm_engine
        self._requests = 0

    def serve(self, commands: TextIO, answers: TextIO) -> None:
        """Obey until the input ends."""
        _say(answers, {"ready": True})
        for line in commands:
            command = json.loads(line)
            try:
                answer = {"answer": getattr(self, command.pop("do"))(**command)}
            except Exception as error:
                answer = {"failed": f"{type(error).__name__}: {error}"}
            _say(answers, answer)

    def reset(self) -> bool:
        """Forget vLLM's own prefix cache; False when a block is still in use."""
        return bool(self._engine.reset_prefix_cache())

    def run(self, jobs: list[Job]) -> list[dict[str, Any]]:
        """Greedy requests, each from its time ``at`` on: what became of each, in their order."""
        waiting = sorted(enumerate(jobs), key=lambda entry: entry[1]["at"])
        results: list[dict[str, Any]] = [{} for _ in jobs]
        under_way: dict[str, _Timed] = {}
        began = time.perf_counter()
        while waiting or under_way:
            now = time.perf_counter() - began
            while waiting and waiting[0][1]["at"] <= now:
                number, job = waiting.pop(0)
                timed = _Timed(job, began, results[number])
                under_way[self._add(job)] = timed
            if not under_way:
                time.sleep(max(0.0, min(0.001, waiting[0][1]["at"] - now)))
                continue
            for output in self._engine.step():
                if under_way[output.request_id].take(output):
                    del under_way[output.request_id]
        return results

    def _add(self, job: Job) -> str:
        from vllm import SamplingParams

        self._requests += 1
        request = f"bench-{self._requests}"
        greedy = SamplingParams(
            max_tokens=job["generate"], temperature=0.0, ignore_eos=True, detokenize=False
        )
        self._engine.add_request(request, {"prompt_token_ids": job["tokens"]}, greedy)
        return request


class _Timed:
    """When the tokens of one request came."""

    def __init__(self, job: Job, began: float, result: dict[str, Any]) -> None:
        self._due = began + job["at"]
        self._last = 0.0
        self._tokens = 0
        self._result = result
        result |= {"ttft_ms": 0.0, "gaps_ms": [], "cached": 0, "tokens": [], "ended_s": 0.0}
        self._began = began

    def take(self, output: Any) -> bool:
        """What a step gave; whether that was the end."""
        now, tokens = time.perf_counter(), output.outputs[0].token_ids
        if self._tokens == 0:
            self._result["ttft_ms"] = 1000 * (now - self._due)
            self._result["cached"] = output.num_cached_tokens or 0
        elif len(tokens) > self._tokens:
            self._result["gaps_ms"].append(1000 * (now - self._last))
        self._last, self._tokens = now, len(tokens)
        if output.finished:
            self._result["tokens"] = list(tokens)
            self._result["ended_s"] = now - self._began
        return bool(output.finished)


def _say(answers: TextIO, message: dict[str, Any]) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


if __name__ == "__main__":
    with os.fdopen(int(sys.argv[2]), "w", encoding="utf-8") as pipe:
        Driver(json.loads(sys.argv[1])).serve(sys.stdin, pipe)
        pipe.flush()
        # The end of an engine takes seconds and says nothing of interest.
        os._exit(0)
