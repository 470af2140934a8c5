"""Small traces that tests make, in each format."""

import json
import random
from pathlib import Path

BLOCK = 512


def conversations(seed: int, count: int = 200) -> list[dict[str, object]]:
    """Requests of the Mooncake format: conversations that grow by one or two blocks a turn."""
    rng = random.Random(seed)
    turns: dict[int, list[int]] = {}
    fresh, lines = 1, []
    for number in range(count):
        conversation = rng.randrange(30)
        ids = turns.get(conversation, [0])
        grown = [*ids, *range(fresh, fresh + rng.randint(1, 2))]
        fresh += 2
        turns[conversation] = grown
        lines.append(
            {
                "timestamp": number * 1000,
                "input_length": len(grown) * BLOCK,
                "output_length": 10,
                "hash_ids": grown,
            }
        )
    return lines


def write_lines(path: Path, lines: list[dict[str, object]]) -> Path:
    """A file with one JSON object a line."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path
