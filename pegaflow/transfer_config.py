"""vLLM's ``--kv-transfer-config`` with PegaFlow's connector in it."""

from collections.abc import Sequence
from typing import Any, Final

from pegaflow.errors import ConfigError
from pegaflow.json_text import parse_json

CONNECTOR: Final = "PegaKVConnector"
MODULE: Final = "pegaflow.connector"
OPTION: Final = "--kv-transfer-config"

_MULTI: Final = "MultiConnector"


def take_option(args: Sequence[str]) -> tuple[list[str], str | None]:
    """The arguments of vLLM without ``--kv-transfer-config``, and the value that it had."""
    rest, values = list[str](), list[str]()
    remaining = iter(args)
    for arg in remaining:
        name, equals, value = arg.partition("=")
        if not name.startswith("--") or name.replace("_", "-") != OPTION:
            if name.startswith("--") and name.replace("_", "-").startswith(OPTION + "."):
                raise ConfigError(
                    f"{name} cannot be merged with PegaFlow's connector; "
                    f"give the whole of it as {OPTION} '{{...}}'"
                )
            rest.append(arg)
        elif equals:
            values.append(value)
        elif (following := next(remaining, None)) is not None:
            values.append(following)
        else:
            raise ConfigError(f"{OPTION} has no value; it takes a JSON object")
    if len(values) > 1:
        raise ConfigError(f"{OPTION} is given {len(values)} times; give it once")
    return rest, values[0] if values else None


def merge(given: str | None, socket: str) -> dict[str, Any]:
    """The configuration ``given`` by the user, if any, with PegaFlow's connector at ``socket``.

    What the user set stays. Raises ``ConfigError`` when it leaves no room for the connector.
    """
    if given is None:
        return _completed({}, socket)
    try:
        config = parse_json(given)
    except ValueError as error:
        raise ConfigError(f"{OPTION} {given!r} is not JSON: {error}") from error
    if not isinstance(config, dict):
        raise ConfigError(f"{OPTION} {given!r} is not a JSON object")
    connector = config.get("kv_connector")
    if connector in (None, CONNECTOR):
        return _completed(config, socket)
    if connector == _MULTI:
        return _joined(config, socket)
    raise ConfigError(
        f"{OPTION} names the connector {connector}, and an engine has one: use kv_connector "
        f"{_MULTI} with both in kv_connector_extra_config.connectors"
    )


def _completed(config: dict[str, Any], socket: str) -> dict[str, Any]:
    extra = _object(config, "kv_connector_extra_config")
    return {
        "kv_connector": CONNECTOR,
        "kv_role": "kv_both",
        "kv_connector_module_path": MODULE,
        **config,
        "kv_connector_extra_config": {"pegaflow.socket": socket, **extra},
    }


def _joined(config: dict[str, Any], socket: str) -> dict[str, Any]:
    extra = _object(config, "kv_connector_extra_config")
    connectors = extra.get("connectors", [])
    if not isinstance(connectors, list) or not all(isinstance(item, dict) for item in connectors):
        raise ConfigError(
            f"{OPTION}: kv_connector_extra_config.connectors is not a list of objects"
        )
    ours = [item.get("kv_connector") == CONNECTOR for item in connectors]
    if any(ours):
        connectors = [
            _completed(item, socket) if is_ours else item
            for item, is_ours in zip(connectors, ours, strict=True)
        ]
    else:
        connectors = [*connectors, _completed({}, socket)]
    return {
        "kv_role": "kv_both",
        **config,
        "kv_connector_extra_config": {**extra, "connectors": connectors},
    }


def _object(config: dict[str, Any], key: str) -> dict[str, Any]:
    value = config.get(key) or {}
    if not isinstance(value, dict):
        raise ConfigError(f"{OPTION}: {key} is not a JSON object")
    return value
