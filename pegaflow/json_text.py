"""JSON that others wrote."""

import json
from typing import Any


def parse_json(text: str | bytes) -> Any:
    """The value in ``text``; raises ``ValueError`` also for what is nested too deep.

    >>> parse_json('{"a": [1]}')
    {'a': [1]}
    """
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
