"""vLLM's own log, where it has the prompts' token ids."""

import re
from datetime import datetime
from hashlib import blake2b
from typing import Final

from pegaflow.planning.lines import MOST_TOKENS, BadLine, Form, Parse, ReadOptions, Request
from pegaflow.planning.trace import Trace

HOW: Final = (
    "run vLLM with --enable-log-requests and VLLM_LOGGING_LEVEL=DEBUG, without --max-log-len"
)
_BLOCK_TOKENS: Final = 16
_REUSE: Final = (
    "recorded: equal token ids from the prompt's begin on are equal blocks; whatever else parts "
    "requests (LoRA, images, cache salts) is not in the log"
)
# Before it are vLLM's process and prefix, and what journals and Kubernetes write.
_LINE: Final = re.compile(r".{0,200}?\b(?:DEBUG|INFO|WARNING|ERROR) (\d\d-\d\d \d\d:\d\d:\d\d) ")
# As vLLM writes it to a terminal, or where it is told to.
_COLOUR: Final = re.compile(r"\x1b\[[\d;]*m")
_YEAR_S: Final = 366 * 86_400.0
"""Of the year that the first time is taken to be of."""
_FIELD: Final = "prompt_token_ids: "
_PROMPT: Final = re.compile(r"(\[[^\]]*\]?|None)")


def vllm_form(first: str, options: ReadOptions) -> Form | None:
    """The format, when this is a line of such a log."""
    if not _LINE.match(_plain(first)):
        return None
    trace = Trace("vllm-log", options.block_tokens or _BLOCK_TOKENS, _REUSE)
    return trace, _parser(trace.block_tokens)


def _parser(block_tokens: int) -> Parse:
    last = 0.0

    def parse(_number: int, line: str) -> Request | None:
        nonlocal last
        line = _plain(line)
        # A prompt's text may look like a field: the last one counts.
        before, _, field = line.rpartition(_FIELD)
        head, prompt = _LINE.match(line), _PROMPT.match(field)
        if head is None or prompt is None or "equest " not in before:
            return None
        if prompt[1] == "None":
            raise BadLine("the prompt has no token ids: it came as embeddings")
        if not prompt[1].endswith("]"):
            raise BadLine("its prompt_token_ids are cut off")
        time = _time(head[1])
        # The times have no year: only a new one goes back so far.
        while time < last - _YEAR_S / 2:
            time += _YEAR_S
        last = time
        try:
            tokens = [int(token) for token in prompt[1][1:-1].split(",") if token.strip()]
        except ValueError as error:
            raise BadLine("its prompt_token_ids are no whole numbers") from error
        if len(tokens) > MOST_TOKENS:
            raise BadLine(f"it has {len(tokens):,} tokens, allowed are at most {MOST_TOKENS:,}")
        return Request(time, len(tokens), _names(tokens, block_tokens))

    return parse


def _plain(line: str) -> str:
    """The line without colours; prompts in it have theirs escaped."""
    return _COLOUR.sub("", line)


def _time(text: str) -> float:
    try:
        # Any year will do, but for the 29th of February.
        return datetime.strptime(f"2000-{text}+0000", "%Y-%m-%d %H:%M:%S%z").timestamp()
    except ValueError as error:
        raise BadLine(f"{text!r} is no time as MM-DD hh:mm:ss") from error


def _names(tokens: list[int], block_tokens: int) -> list[int]:
    """A name for each block, which has all before it in it."""
    names, before = [], b""
    for start in range(0, len(tokens), block_tokens):
        block = ",".join(map(str, tokens[start : start + block_tokens]))
        before = blake2b(before + block.encode(), digest_size=8).digest()
        names.append(int.from_bytes(before, "little"))
    return names
