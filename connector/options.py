"""The connector's settings: the ``pegaflow.*`` keys of ``kv_connector_extra_config``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pegaflow.config import resolve_socket
from pegaflow.errors import ConfigError

_PREFIX: Final = "pegaflow."
_MODES: Final = ("read_write", "save_only", "load_only")
_POLICIES: Final = ("recompute", "fail")
_KEYS: Final = (
    "pegaflow.socket",
    "pegaflow.mode",
    "pegaflow.namespace_salt",
    "pegaflow.load_failure_policy",
)
_SOCKET_INSTEAD: Final = (
    "engines reach the daemon over its Unix socket; set pegaflow.socket or PEGAFLOW_SOCKET to its "
    "path, or leave both unset"
)
_RETIRED: Final[Mapping[str, str]] = {
    "pegaflow.host": _SOCKET_INSTEAD,
    "pegaflow.port": _SOCKET_INSTEAD,
    "pegaflow.transfer_backend": "the daemon chooses how to copy; remove it",
    "pegaflow.wait_for_full_prefix": "a lookup never waits for other hosts; remove it",
    "pegaflow.tp_shard_endpoints": (
        "all workers of an engine use the daemon of their host; remove it"
    ),
    "pegaflow.pd_tail_save": "only full blocks are cached; remove it",
    "pegaflow.pd_tail_load": "only full blocks are cached; remove it",
}


@dataclass(frozen=True)
class Options:
    """What the user chose for one engine."""

    socket: str
    saves: bool
    loads: bool
    namespace_salt: str
    recompute_failed_loads: bool

    @classmethod
    def of(cls, extra: Mapping[str, Any], role: str | None) -> "Options":
        """Read ``kv_connector_extra_config`` of an engine whose ``kv_role`` is ``role``.

        Raises ``ConfigError`` for a key or value that is not known.
        """
        for key in sorted(extra):
            if key.startswith(_PREFIX) and key not in _KEYS:
                raise ConfigError(_unknown(key))
        mode = _choice(extra, "pegaflow.mode", _MODES)
        policy = _choice(extra, "pegaflow.load_failure_policy", _POLICIES)
        return cls(
            socket=resolve_socket(_text(extra, "pegaflow.socket") or None),
            saves=mode != "load_only" and role != "kv_consumer",
            loads=mode != "save_only" and role != "kv_producer",
            namespace_salt=_text(extra, "pegaflow.namespace_salt"),
            recompute_failed_loads=policy == "recompute",
        )


def _unknown(key: str) -> str:
    if key in _RETIRED:
        return f"{key} in kv_connector_extra_config has no effect here: {_RETIRED[key]}"
    return f"{key} in kv_connector_extra_config is not a setting; allowed are {', '.join(_KEYS)}"


def _text(extra: Mapping[str, Any], key: str) -> str:
    value = extra.get(key, "")
    if not isinstance(value, str):
        raise ConfigError(f"{key} is {value!r}; a text is allowed")
    return value


def _choice(extra: Mapping[str, Any], key: str, allowed: tuple[str, ...]) -> str:
    value = _text(extra, key) or allowed[0]
    if value not in allowed:
        raise ConfigError(f"{key} is {value!r}; allowed are {', '.join(allowed)}")
    return value
