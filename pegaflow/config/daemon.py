"""What the native daemon is given: the settings with every ``auto`` that Python resolves."""

import dataclasses
from dataclasses import dataclass
from decimal import Decimal

from pegaflow.config.kinds import AUTO, NONE
from pegaflow.config.load import Loaded
from pegaflow.config.pool import auto_pool
from pegaflow.config.ssd import SsdPath, SsdPaths
from pegaflow.file_names import daemon_json


@dataclass(frozen=True, kw_only=True)
class DaemonConfig:
    """The configuration of ``pegaflow._native.serve``, which reads it as JSON."""

    socket: str
    socket_group: str | None
    http_addr: str | None
    """None: 127.0.0.1:9091, or the next free port."""
    pool_bytes: int
    pool_size_origin: str
    """How the pool's size came about, for its status."""
    pool_dir: str | None
    """None: hugetlbfs or /dev/shm with room for the pool, else anonymous memory."""
    eviction_policy: str
    verify: str
    scrub_period_s: float
    lease_ttl_s: float
    copy_threads: int
    copy_strategy: str
    max_rate_bytes_s: int | None
    """None: no limit."""
    drain_timeout_s: float
    log_level: str
    log_format: str
    http_token_file: str | None = None
    """None: HTTP changes nothing."""
    ssd: tuple[SsdPath, ...] = ()
    """Empty: there is no ssd tier."""
    ssd_engine: str = "auto"
    ssd_admission: str = "all"
    ssd_write_budget_bytes: int | None = None
    """A day; None: no limit."""
    ssd_fetch_bytes: int = 256 << 20
    min_benefit: float = 1.0
    warm_on_start: bool = False
    record_dir: str | None = None
    """None: lookups are not recorded."""
    record_bytes: int = 1 << 30
    otlp_endpoint: str | None = None
    """None: nothing is exported."""
    log_file: str | None = None
    """Of a detached daemon; None: beside the socket, unless it says what it is."""
    pid_file: str | None = None

    @classmethod
    def of(cls, loaded: Loaded) -> "DaemonConfig":
        """The daemon's part of the settings; finds the size of an automatic pool now."""
        config = loaded.config
        if config.pool_size is None:
            pool = auto_pool(config.pool_dir)
            pool_bytes, origin = pool.size, f"auto, {pool.reason}"
        else:
            pool_bytes, origin = config.pool_size, loaded.values["pool_size"].where
        return cls(
            socket=config.socket,
            socket_group=config.socket_group,
            http_addr=config.http_addr,
            pool_bytes=pool_bytes,
            pool_size_origin=origin,
            pool_dir=config.pool_dir,
            eviction_policy=config.eviction_policy,
            verify=config.verify,
            scrub_period_s=config.scrub_period,
            http_token_file=config.http_token_file,
            ssd=config.ssd or (),
            ssd_engine=config.ssd_engine,
            ssd_admission=config.ssd_admission,
            ssd_write_budget_bytes=config.ssd_write_budget,
            ssd_fetch_bytes=config.ssd_fetch_bytes,
            min_benefit=config.min_benefit,
            warm_on_start=config.warm_on_start,
            record_dir=config.record_dir,
            record_bytes=config.record_size,
            otlp_endpoint=config.otlp_endpoint,
            lease_ttl_s=config.lease_ttl,
            copy_threads=config.copy_threads,
            copy_strategy=config.copy_strategy,
            max_rate_bytes_s=config.max_rate,
            drain_timeout_s=config.drain_timeout,
            log_level=config.log_level,
            log_format=config.log_format,
            log_file=config.log_file,
            pid_file=config.pid_file,
        )

    def settings(self) -> dict[str, str]:
        """The settings, by key and as text, with which another daemon would be the same."""
        return {
            "socket": self.socket,
            "socket_group": self.socket_group or NONE,
            "http_addr": self.http_addr or AUTO,
            "http_token_file": self.http_token_file or NONE,
            "pool_size": str(self.pool_bytes),
            "pool_dir": self.pool_dir or AUTO,
            "eviction_policy": self.eviction_policy,
            "verify": self.verify,
            "scrub_period": _text(self.scrub_period_s),
            "ssd": str(SsdPaths(self.ssd)) or NONE,
            "ssd_engine": self.ssd_engine,
            "ssd_admission": self.ssd_admission,
            "ssd_write_budget": str(self.ssd_write_budget_bytes or NONE),
            "ssd_fetch_bytes": str(self.ssd_fetch_bytes),
            "min_benefit": _text(self.min_benefit),
            "warm_on_start": str(self.warm_on_start),
            "record_dir": self.record_dir or NONE,
            "record_size": str(self.record_bytes),
            "otlp_endpoint": self.otlp_endpoint or NONE,
            "lease_ttl": _text(self.lease_ttl_s),
            "copy_threads": str(self.copy_threads),
            "copy_strategy": self.copy_strategy,
            "max_rate": NONE if self.max_rate_bytes_s is None else str(self.max_rate_bytes_s),
            "drain_timeout": _text(self.drain_timeout_s),
            "log_level": self.log_level,
            "log_format": self.log_format,
            "log_file": self.log_file or AUTO,
            "pid_file": self.pid_file or AUTO,
        }

    def to_json(self) -> str:
        """The JSON that the native core reads."""
        return daemon_json(dataclasses.asdict(self))


def _text(seconds: float) -> str:
    """A number as settings have it, without an exponent."""
    return f"{Decimal(repr(seconds)):f}"
