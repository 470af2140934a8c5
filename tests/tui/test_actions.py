"""Actions: only when allowed, only with the name typed, only with the daemon's token."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from pegaflow.errors import ConfigError, PegaflowError, Refused, Unreachable
from pegaflow.observe.operator import Operator
from tests.cli.installed import Host
from tests.tui.scenes import Scene

_RESULT = {"blocks": 100, "bytes": 100 << 20, "kept_blocks": 3, "kept_bytes": 3 << 20}


class _Operator(Operator):
    """Remembers what it is asked for."""

    def __init__(self, result: dict[str, Any] | PegaflowError) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self._result = result

    def do(self, operation: str, fields: dict[str, Any]) -> dict[str, Any]:
        self.asked.append((operation, fields))
        if isinstance(self._result, PegaflowError):
            raise self._result
        return self._result


async def _type(scene: Scene, pilot: Pilot[None], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
    await scene.app.workers.wait_for_complete()
    await scene.settle(pilot)


def _run(operator: Operator | None, *keys: str) -> list[str]:
    """What is said after some keys."""

    async def run() -> list[str]:
        scene = Scene(operators={"gpu-1": operator} if operator else {})
        async with scene.shown() as pilot:
            await _type(scene, pilot, *keys)
            return [note.message for note in scene.app._notifications]

    return asyncio.run(run())


def test_nothing_can_be_changed_unless_it_is_allowed() -> None:
    assert _run(None, "x") == ["changes need --allow-actions"]


def test_a_part_of_a_tier_goes_once_its_name_is_typed() -> None:
    operator = _Operator(_RESULT)
    told = _run(operator, "x", *"memory", "enter")
    assert operator.asked == [("tier-evict", {"tier": "memory", "amount": {"percent": 10.0}})]
    assert told == [
        "memory: 100 blocks (100 MiB) evicted; 3 stay, because they are in use or pinned"
    ]


def test_of_an_ssd_path_it_is_that_path_alone() -> None:
    operator = _Operator(_RESULT)
    path = "/mnt/nvme1/pegaflow"
    _run(operator, "x", *path.replace("/", "/"), "enter")
    fields = {"tier": "ssd", "path": path, "amount": {"percent": 10.0}}
    assert operator.asked == [("tier-evict", fields)]


def test_a_namespace_goes_once_its_first_digits_are_typed() -> None:
    operator = _Operator({"blocks": 5, "bytes": 5 << 20, "ssd_blocks": 1, "ssd_bytes": 1 << 20})
    told = _run(operator, *["tab"] * 6, "down", "x", *"9e3779b9800b", "enter")
    assert operator.asked == [("namespace-evict", {"namespace": "9e3779b9800b7c03" * 4})]
    assert told == ["9e3779b9800b: 6 blocks (6 MiB) evicted"]


@pytest.mark.parametrize("typed", ["", "Memory", "memor", "ssd", "all"])
def test_another_name_changes_nothing(typed: str) -> None:
    operator = _Operator(_RESULT)
    assert _run(operator, "x", *typed, "enter") == []
    assert operator.asked == []


def test_esc_changes_nothing() -> None:
    operator = _Operator(_RESULT)
    assert _run(operator, "x", *"memory", "escape") == []
    assert operator.asked == []


def test_an_amount_that_is_none_changes_nothing() -> None:
    operator = _Operator(_RESULT)
    _run(operator, "x", *"memory", "shift+tab", *"0" * 3, "enter")
    assert operator.asked == []


def test_what_the_daemon_refuses_is_told() -> None:
    assert _run(_Operator(Refused("it is not allowed")), "x", *"memory", "enter") == [
        "it is not allowed"
    ]


@pytest.fixture
def token_file(host: Host) -> Iterator[Path]:
    """The token of a daemon that runs."""
    file = host.directory / "token"
    file.write_text("0123456789abcdef0123456789abcdef\n", encoding="utf-8")
    file.chmod(0o600)
    host.serve("--http-token-file", str(file))
    yield file


def _address(host: Host) -> str:
    return f"http://{host.status()['http_addr']}"


def test_a_real_daemon_does_it_with_its_token(host: Host, token_file: Path) -> None:
    operator = Operator(lambda: _address(host), token_file)
    fields = {"tier": "memory", "amount": {"percent": 10.0}}
    assert operator.do("tier-evict", fields)["blocks"] == 0


def test_a_real_daemon_refuses_another_token(host: Host, token_file: Path) -> None:
    other = token_file.with_name("other")
    other.write_text("x" * 32, encoding="utf-8")
    with pytest.raises(Refused, match="the token is missing or another one"):
        Operator(lambda: _address(host), other).do("tier-flush", {"tier": "memory"})


def test_without_a_token_or_a_daemon_the_reason_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be used"):
        Operator(lambda: "http://127.0.0.1:1", tmp_path / "none").do("tier-flush", {})
    (tmp_path / "token").write_text("x" * 32, encoding="utf-8")
    with pytest.raises(Unreachable, match=r"does not answer: .*[^.]$"):
        Operator(lambda: "http://127.0.0.1:1", tmp_path / "token").do("tier-flush", {})
