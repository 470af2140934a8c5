"""Replays of traces by the installed command, and what they have to find."""

import json
from pathlib import Path
from typing import Any

import jsonschema

from tests.cli.documents import schema
from tests.cli.installed import Host

AT_ONCE = ("--engines", "1", "--speed", "0", "--block-bytes", "4KiB")


def blocks_of(trace: Path) -> list[list[int]]:
    """The blocks of each request."""
    return [json.loads(line)["hash_ids"] for line in trace.read_text(encoding="utf-8").splitlines()]


def prefix_hits(requests: list[list[int]]) -> int:
    """Blocks that an endless cache has when they are asked for."""
    seen, hits = set[int](), 0
    for blocks in requests:
        hits += next((n for n, block in enumerate(blocks) if block not in seen), len(blocks))
        seen.update(blocks)
    return hits


def replayed(host: Host, trace: Path, *args: str) -> dict[str, Any]:
    """What a replay without any fault says."""
    done = host.run("trace", "replay", str(trace), *args, "--json")
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(document, schema("trace-replay"))
    return document
