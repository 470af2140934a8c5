"""The settings in ``kv_connector_extra_config``: what is allowed, and what mistakes are told."""

from typing import Any

import pytest

from pegaflow.connector.options import Options
from pegaflow.errors import ConfigError


@pytest.fixture(autouse=True)
def socket(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PEGAFLOW_SOCKET", "/run/test/daemon.sock")
    return "/run/test/daemon.sock"


def test_nothing_has_to_be_said(socket: str) -> None:
    assert Options.of({}, "kv_both") == Options(
        socket=socket, saves=True, loads=True, namespace_salt="", recompute_failed_loads=True
    )


def test_the_socket_of_the_configuration_comes_first() -> None:
    assert Options.of({"pegaflow.socket": "/tmp/x.sock"}, "kv_both").socket == "/tmp/x.sock"


@pytest.mark.parametrize(
    ("mode", "role", "saves", "loads"),
    [
        ("read_write", "kv_both", True, True),
        ("save_only", "kv_both", True, False),
        ("load_only", "kv_both", False, True),
        ("read_write", "kv_producer", True, False),
        ("read_write", "kv_consumer", False, True),
    ],
)
def test_mode_and_role_say_which_way_blocks_go(
    mode: str, role: str, saves: bool, loads: bool
) -> None:
    options = Options.of({"pegaflow.mode": mode}, role)
    assert (options.saves, options.loads) == (saves, loads)


def test_a_failed_load_may_fail_the_request_if_the_user_wants_it() -> None:
    options = Options.of({"pegaflow.load_failure_policy": "fail"}, "kv_both")
    assert not options.recompute_failed_loads


def test_settings_of_others_are_left_alone() -> None:
    Options.of({"connectors": [], "shared_storage_path": "/x"}, "kv_both")


@pytest.mark.parametrize(
    ("extra", "sentence"),
    [
        (
            {"pegaflow.sokcet": "/x"},
            "pegaflow.sokcet in kv_connector_extra_config is not a setting; allowed are "
            "pegaflow.socket, pegaflow.mode, pegaflow.namespace_salt, pegaflow.load_failure_policy",
        ),
        ({"pegaflow.mode": "both"}, "pegaflow.mode is 'both'; allowed are read_write, save_only"),
        ({"pegaflow.mode": 3}, "pegaflow.mode is 3; a text is allowed"),
        ({"pegaflow.load_failure_policy": "retry"}, "allowed are recompute, fail"),
        ({"pegaflow.host": "localhost"}, "set pegaflow.socket or PEGAFLOW_SOCKET"),
        ({"pegaflow.port": 50055}, "set pegaflow.socket or PEGAFLOW_SOCKET"),
        ({"pegaflow.transfer_backend": "kernel"}, "remove it"),
    ],
    ids=["unknown", "value", "type", "policy", "host", "port", "backend"],
)
def test_a_mistake_is_answered_with_what_is_allowed(extra: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as error:
        Options.of(extra, "kv_both")
    assert sentence in str(error.value)
