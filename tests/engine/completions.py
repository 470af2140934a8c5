"""Greedy completions over vLLM's OpenAI interface, token by token."""

import json
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import httpx


@dataclass(frozen=True)
class Token:
    """One token of an answer."""

    token: int
    gap: float
    """Distance of the two best log-probabilities at its position."""


def stream_completion(
    http: httpx.Client, model: str, prompt: Sequence[int], generate: int, timeout_s: float
) -> Generator[Token, None, None]:
    """Ask for ``generate`` tokens; closing the iterator early is a client that goes away.

    Each read may take ``timeout_s``.
    """
    body = {
        "model": model,
        "prompt": list(prompt),
        "max_tokens": generate,
        "temperature": 0,
        "ignore_eos": True,
        "logprobs": 2,
        "return_token_ids": True,
        "stream": True,
    }
    with http.stream("POST", "/v1/completions", json=body, timeout=timeout_s) as response:
        response.raise_for_status()
        for line in response.iter_lines():
            if line.startswith("data: {"):
                yield from _tokens(json.loads(line.removeprefix("data: ")))


def _tokens(event: dict[str, Any]) -> Iterator[Token]:
    if "error" in event:
        raise AssertionError(f"vLLM answers with an error: {event['error']}")
    choice = event["choices"][0]
    if choice["finish_reason"] == "error":
        raise AssertionError("vLLM ends the request with an error")
    tokens, positions = choice["token_ids"] or [], choice["logprobs"]["top_logprobs"]
    for token, position in zip(tokens, positions, strict=True):
        best = sorted(position.values(), reverse=True)
        yield Token(token, best[0] - best[1])
