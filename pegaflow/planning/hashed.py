"""Traces in lines of JSON that name each block by a hash id: Mooncake's and Qwen-Bailian's."""

from typing import Any, Final

from pegaflow.json_text import parse_json
from pegaflow.planning.lines import (
    MOST_SECONDS,
    MOST_TOKENS,
    BadLine,
    Fields,
    Form,
    Parse,
    ReadOptions,
    Request,
    number,
)
from pegaflow.planning.trace import Trace

RECORDED: Final = "recorded: equal hash ids are equal blocks"
_MOONCAKE_BLOCK_TOKENS: Final = 512
QWEN_BLOCK_TOKENS: Final = 16
_USUAL_SIZES: Final = tuple(1 << power for power in range(13))
_MOONCAKE: Final = frozenset({"timestamp", "input_length", "output_length", "hash_ids"})
_QWEN: Final = _MOONCAKE | {"chat_id", "parent_chat_id", "type", "turn"}


def hashed_form(first: str, options: ReadOptions) -> Form | None:
    """The format of which this is a line, if it is one of these."""
    if not first.lstrip().startswith("{"):
        return None
    try:
        keys = set(parse_json(first))
    except ValueError:
        return None
    if "hash_ids" not in keys:
        return None
    is_qwen = bool(keys & (_QWEN - _MOONCAKE))
    default = QWEN_BLOCK_TOKENS if is_qwen else _MOONCAKE_BLOCK_TOKENS
    name = "qwen-bailian" if is_qwen else "mooncake"
    trace = Trace(name, options.block_tokens or default, RECORDED)
    fields = Fields(trace, _QWEN if is_qwen else _MOONCAKE)
    return trace, _parser(trace.block_tokens, 1.0 if is_qwen else 1e-3, fields)


def parsed(line: str) -> dict[str, Any]:
    """The object of a line."""
    try:
        raw = parse_json(line)
    except ValueError as error:
        raise BadLine(f"it is no JSON ({error})") from error
    if not isinstance(raw, dict):
        raise BadLine("it is no JSON object")
    return raw


def hash_ids(raw: dict[str, Any]) -> list[int]:
    """The names of the blocks."""
    ids = raw.get("hash_ids")
    if not isinstance(ids, list) or not all(type(i) is int and 0 <= i < 1 << 64 for i in ids):
        raise BadLine("hash_ids is not a list of whole numbers from 0 to 2^64 - 1")
    return ids


def _parser(block_tokens: int, unit_s: float, fields: Fields) -> Parse:
    """Lines with times in ``unit_s``."""

    def parse(number_of_line: int, line: str) -> Request:
        raw = parsed(line)
        fields.look(number_of_line, raw)
        time = number(raw, "timestamp", round(MOST_SECONDS / unit_s))
        tokens = int(number(raw, "input_length", MOST_TOKENS))
        ids = hash_ids(raw)
        wanted = -(-tokens // block_tokens)
        if wanted - len(ids) not in (0, 1):
            raise BadLine(
                f"{len(ids)} hash ids do not fit {tokens} tokens in blocks of {block_tokens}, "
                f"which are {wanted}: give the trace's block size with --block-tokens"
                f"{_fitting(tokens, len(ids))}"
            )
        answer = raw.get("output_length") is not None and number(raw, "output_length", MOST_TOKENS)
        return Request(time * unit_s, tokens, ids, int(answer))

    return parse


def _fitting(tokens: int, blocks: int) -> str:
    """The usual size of blocks that would fit, in words."""
    sizes = (size for size in _USUAL_SIZES if -(-tokens // size) - blocks in (0, 1))
    return next((f", such as {size}" for size in sizes), "")
