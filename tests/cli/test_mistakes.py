"""Each value that a command cannot use is named, with what to do."""

import re
from typing import Any, Final

import pytest

from pegaflow.cli.exit_codes import ExitCode
from tests.cli.nowhere import COMMANDS, Nowhere, check_sentences

_BAD: Final = "no-such!thing"
_GOOD: Final = {
    "TIER": "memory",
    "SIZE": "1gb",
    "AMOUNT": "50%",
    "PATH": "/mnt/a",
    "PATH=SIZE": "/mnt/b=1gb",
    "NAMESPACE": "ab",
    "ENGINE": "ab",
    "TRACE": "/dev/null",
    "OUT": "out",
}
"""Values of required arguments."""
_OTHERS: Final[dict[tuple[str, ...], list[str]]] = {
    ("engine", "evict"): ["--yes"],
    ("namespace", "evict"): ["--yes"],
    ("tier", "drain"): ["--yes"],
    ("tier", "evict"): ["--yes"],
}
"""What lets a command come as far as its values."""
_NOT_ALONE: Final = {"--retention", "--token-file"}
"""Options that are a mistake without others."""
_WHAT_TO_DO: Final = re.compile(r"allowed|give |name |choose |use |`pegaflow|did you mean|install ")


def _takes_a_value(param: Any) -> bool:
    return not getattr(param, "is_flag", False)


_VALUES: Final = [
    pytest.param(name, param, id=" ".join([*name, param.opts[0]]))
    for name, command in sorted(COMMANDS.items())
    for param in command.params
    if _takes_a_value(param)
]


@pytest.mark.parametrize(("name", "param"), _VALUES)
def test_a_value_that_cannot_be_used(nowhere: Nowhere, name: tuple[str, ...], param: Any) -> None:
    required = [
        one for one in COMMANDS[name].params if one.param_type_name == "argument" and one.required
    ]
    arguments = [_BAD if one is param else _GOOD[one.metavar] for one in required]
    option = [f"{param.opts[0]}={_BAD}"] if param.opts[0].startswith("-") else []
    others = [one for one in _OTHERS.get(name, []) if not one.startswith(param.opts[0])]
    outcome = nowhere.with_a_daemon(*name, *option, *others, *arguments)
    check_sentences(outcome)
    if outcome.code != ExitCode.USAGE:
        # Any text will do, or what is wrong with it shows later.
        return
    (line,) = outcome.err.splitlines()
    if _BAD in line or (option and param.opts[0] in line and param.opts[0] not in _NOT_ALONE):
        assert _BAD in line
        assert _WHAT_TO_DO.search(line)
