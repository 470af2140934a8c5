"""What a daemon recorded: lines of JSON with hashed ids, and blocks of unknown tokens."""

from typing import Final

from pegaflow.json_text import parse_json
from pegaflow.planning.hashed import RECORDED, hash_ids, parsed
from pegaflow.planning.lines import MOST_SECONDS, Fields, Form, ReadOptions, Request, number
from pegaflow.planning.trace import Trace

RECORDINGS: Final = "lookups-*.jsonl.gz"
"""The names of the files."""
_FIELDS: Final = (
    "timestamp", "namespace", "group", "block_bytes", "memory_blocks", "ssd_blocks", "hash_ids",
)  # fmt: skip
_MOST_BYTES: Final = 1 << 40
"""Of a block."""
_BLOCK_TOKENS: Final = 16
"""vLLM's own."""


def recorded_form(first: str, options: ReadOptions) -> Form | None:
    """The format, when this is a line of a recording."""
    try:
        raw = parse_json(first)
    except ValueError:
        return None
    if not isinstance(raw, dict) or not {"hash_ids", "block_bytes", "namespace"} <= set(raw):
        return None
    trace = Trace("recording", options.block_tokens or _BLOCK_TOKENS, RECORDED)
    trace.block_bytes = int(number(raw, "block_bytes", _MOST_BYTES))
    if options.block_tokens is None:
        trace.notes.append(
            f"blocks are taken to have {_BLOCK_TOKENS} tokens, vLLM's default: give --block-tokens "
            "if they do not"
        )
    others = set[str]()
    fields = Fields(trace, _FIELDS)

    def parse(number_of_line: int, line: str) -> Request:
        raw = parsed(line)
        fields.look(number_of_line, raw)
        names = hash_ids(raw)
        size = number(raw, "block_bytes", _MOST_BYTES)
        if size != trace.block_bytes and not others:
            others.add(str(raw.get("namespace")))
            trace.notes.append(
                f"blocks of namespace {raw.get('namespace')} have {size:g} bytes, those of the "
                f"first {trace.block_bytes}: they count alike here"
            )
        time = number(raw, "timestamp", MOST_SECONDS * 1000)
        return Request(time * 1e-3, len(names) * trace.block_tokens, names)

    return trace, parse
