"""What the native daemon is given: the settings with every ``auto`` that Python resolves."""

import dataclasses
import json
from dataclasses import dataclass

from pegaflow.config.load import Loaded
from pegaflow.config.pool import auto_pool


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
    drain_timeout_s: float
    log_level: str
    log_format: str

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
            lease_ttl_s=config.lease_ttl,
            copy_threads=config.copy_threads,
            drain_timeout_s=config.drain_timeout,
            log_level=config.log_level,
            log_format=config.log_format,
        )

    def to_json(self) -> str:
        """The JSON that the native core reads."""
        return json.dumps(dataclasses.asdict(self))
