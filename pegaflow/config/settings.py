"""The table of settings. Flags, environment variables, documentation and checks come from it.

A setting's key in the file, its variable and its flag are one name: ``pool_size``,
``PEGAFLOW_POOL_SIZE``, ``--pool-size``.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pegaflow.config import kinds
from pegaflow.config.kinds import AUTO, NONE, Kind
from pegaflow.config.locations import runtime_directory
from pegaflow.config.pool import AUTO_RULE
from pegaflow.config.ssd import SsdPath


@dataclass(frozen=True)
class Setting:
    """One setting. ``default`` is text as a user would write it, or finds that text."""

    key: str
    kind: Kind
    default: str | Callable[[Mapping[str, str]], str]
    help: str

    @property
    def flag(self) -> str:
        """The command line's name of it."""
        return "--" + self.key.replace("_", "-")

    @property
    def variable(self) -> str:
        """The environment's name of it."""
        return "PEGAFLOW_" + self.key.upper()

    def default_text(self, environ: Mapping[str, str]) -> str:
        """The default as text."""
        return self.default if isinstance(self.default, str) else self.default(environ)


def _setting(kind: Kind, default: str | Callable[[Mapping[str, str]], str], help: str) -> Any:
    return dataclasses.field(metadata={"kind": kind, "default": default, "help": help})


def _default_otlp_endpoint(environ: Mapping[str, str]) -> str:
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return NONE
    return environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or NONE


def _default_socket(environ: Mapping[str, str]) -> str:
    return str(runtime_directory(environ) / "daemon.sock")


@dataclass(frozen=True, kw_only=True)
class Config:
    """Every setting with its value in force; None stands for ``auto`` and ``none``."""

    socket: str = _setting(
        kinds.SOCKET_PATH,
        _default_socket,
        "The daemon's Unix socket; by default in $XDG_RUNTIME_DIR/pegaflow, else in /run/pegaflow.",
    )
    socket_group: str | None = _setting(
        kinds.GROUP.or_word(NONE),
        NONE,
        "A group whose members may use the socket too (mode 0660 instead of 0600).",
    )
    http_addr: str | None = _setting(
        kinds.ADDRESS.or_word(AUTO),
        AUTO,
        "Where health, readiness and metrics are served; auto: 127.0.0.1:9091, or the next free "
        "port, which `pegaflow status` tells.",
    )
    http_token_file: str | None = _setting(
        kinds.PATH.or_word(NONE),
        NONE,
        "The file with the secret that lets HTTP requests change something; only its owner may "
        "read it, and it is read anew for each. Without one, HTTP changes nothing.",
    )
    pool_size: int | None = _setting(
        kinds.SIZE.or_word(AUTO), AUTO, f"Bytes of the memory tier; auto: {AUTO_RULE}."
    )
    pool_dir: str | None = _setting(
        kinds.PATH.or_word(AUTO),
        AUTO,
        "Where the pool is, on hugetlbfs or tmpfs; auto: hugetlbfs or /dev/shm with room for it, "
        "else anonymous memory, which ends with the daemon.",
    )
    eviction_policy: str = _setting(
        kinds.choice("lru", "s3fifo", "sieve", "arc", "tinylfu", "density"),
        "density",
        "Which blocks leave first when the pool is full; `pegaflow plan` compares them. density "
        "learns how soon blocks are used again.",
    )
    verify: str = _setting(
        kinds.choice("always", "first", "off"),
        "first",
        "When pages are compared with their checksums: at each load, at the first load after a "
        "restart of the daemon and in the background, or never.",
    )
    scrub_period: float = _setting(
        kinds.DURATION, "24h", "How long the background takes to look at every page once."
    )
    ssd: tuple[SsdPath, ...] | None = _setting(
        kinds.SSD_PATHS.or_word(NONE),
        NONE,
        "Directories of the ssd tier with the bytes that each may take, one a disk; may be given "
        "several times.",
    )
    ssd_engine: str = _setting(
        kinds.choice("auto", "uring", "psync"),
        "auto",
        "How the ssd tier reads and writes; auto: io_uring where the kernel allows it, else psync.",
    )
    ssd_admission: str = _setting(
        kinds.choice("all", "reused"),
        "all",
        "Which blocks are written to the ssd tier: each, or those that were found at least once.",
    )
    ssd_write_budget: int | None = _setting(
        kinds.SIZE.or_word(NONE), NONE, "Bytes a day that are written to the ssd tier at most."
    )
    ssd_fetch_bytes: int = _setting(
        kinds.SIZE, "256MiB", "Bytes on their way from the ssd tier to requests at most."
    )
    min_benefit: float = _setting(
        kinds.number(0, 1000),
        "1",
        "How many times as long as fetching blocks from the ssd tier it must take to compute them, "
        "for them to be fetched; 0: always.",
    )
    warm_on_start: bool = _setting(
        kinds.SWITCH,
        "off",
        "Whether the memory tier's free room is filled from the ssd tier at the start.",
    )
    record_dir: str | None = _setting(
        kinds.PATH.or_word(NONE),
        NONE,
        "Where lookups are recorded, by hashed ids and without content, in compressed files; "
        "`pegaflow plan` and `pegaflow trace` read them.",
    )
    record_size: int = _setting(
        kinds.SIZE, "1GiB", "Bytes of all recordings there at most (at least 1mb); old ones go."
    )
    otlp_endpoint: str | None = _setting(
        kinds.ENDPOINT.or_word(NONE),
        _default_otlp_endpoint,
        "Where metrics and traces go by OTLP, over gRPC unless $OTEL_EXPORTER_OTLP_PROTOCOL is "
        "http/protobuf; by default $OTEL_EXPORTER_OTLP_ENDPOINT, else none. OpenTelemetry's other "
        "usual variables hold too, also those of certificates.",
    )
    lease_ttl: float = _setting(
        kinds.DURATION, "600s", "How long an engine may hold hits that it does not renew."
    )
    copy_threads: int = _setting(
        kinds.integer(1, 64), "2", "Threads that copy blocks from and to engines' memory."
    )
    copy_strategy: str = _setting(
        kinds.choice("auto", "batch", "plain", "gather"),
        "auto",
        "How copies on GPUs are made: many runs in one driver call, a call for each, or by a ring "
        "of 64 MiB in which the engine's own GPU kernel collects small runs; auto takes whichever "
        "is fastest for an engine's layout, measured when it registers.",
    )
    max_rate: int | None = _setting(
        kinds.SIZE.or_word(NONE),
        NONE,
        "Bytes per second that are copied on one GPU at most, both directions together (at least "
        "1mb); a lower rate slows running requests less.",
    )
    drain_timeout: float = _setting(
        kinds.DURATION, "10s", "How long a stopping daemon waits for transfers in flight."
    )
    log_level: str = _setting(
        kinds.choice("error", "warn", "info", "debug", "trace"), "info", "How much is logged."
    )
    log_format: str = _setting(kinds.choice("text", "json"), "text", "The form of a log line.")
    log_file: str | None = _setting(
        kinds.PATH.or_word(AUTO),
        AUTO,
        "The log of a detached daemon; auto: beside the socket and named as it (daemon.log).",
    )
    pid_file: str | None = _setting(
        kinds.PATH.or_word(AUTO),
        AUTO,
        "The pid of a detached daemon; auto: beside the socket and named as it (daemon.pid).",
    )


SETTINGS: Final[Mapping[str, Setting]] = {
    field.name: Setting(key=field.name, **field.metadata) for field in dataclasses.fields(Config)
}
"""The table, by key."""
