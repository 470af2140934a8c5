"""Options that several measurements share."""

from typing import Annotated, Any

import typer

from pegaflow.errors import ConfigError
from pegaflow.json_text import parse_json

Quick = Annotated[
    bool, typer.Option("--quick", help="Measure less and less often, to see whether it works.")
]
Python = Annotated[
    str,
    typer.Option(
        "--python",
        metavar="PATH",
        help="The interpreter whose vLLM is measured; this one's unless given.",
        show_default=False,
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="A model for vLLM; on a GPU the shape of an 8B model with dummy weights unless "
        "given, else a tiny one.",
        show_default=False,
    ),
]
Tokens = Annotated[
    int | None,
    typer.Option("--tokens", min=64, help="Tokens of a prompt.", show_default="by device"),
]
EngineArguments = Annotated[
    str | None,
    typer.Option(
        "--engine-args",
        metavar="JSON",
        help="More arguments of vllm.LLM, such as '{\"tensor_parallel_size\": 2}'.",
        show_default=False,
    ),
]


def engine_arguments(text: str | None) -> dict[str, Any]:
    """The object that ``--engine-args`` gives."""
    if text is None:
        return {}
    try:
        found = parse_json(text)
    except ValueError as error:
        raise ConfigError(
            f"--engine-args {text!r} is not JSON ({error}); give an object, such as "
            "'{\"tensor_parallel_size\": 2}'"
        ) from error
    if not isinstance(found, dict):
        raise ConfigError(
            f"--engine-args {text!r} is not a JSON object; give one, such as "
            "'{\"tensor_parallel_size\": 2}'"
        )
    return found
