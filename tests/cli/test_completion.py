"""Completion in the shells that the README names."""

import pytest

from tests.cli.installed import Host


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("typed", "word"),
    [("pegaflow ti", "tier"), ("pegaflow tier ev", "evict"), ("pegaflow events --fol", "--follow")],
)
def test_commands_and_options_are_completed(host: Host, shell: str, typed: str, word: str) -> None:
    environ = {
        "_PEGAFLOW_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split()) - 1),
        "_TYPER_COMPLETE_ARGS": typed,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done = host.run(environ=environ)
    assert word in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_own_script(host: Host, shell: str) -> None:
    done = host.run(environ={"_PEGAFLOW_COMPLETE": f"source_{shell}"})
    assert f"complete_{shell}" in done.stdout
    assert (done.returncode, done.stderr) == (0, "")
