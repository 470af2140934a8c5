"""Texts that settings accept, for hypothesis."""

import string

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from pegaflow.config import SETTINGS

_words = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=12)
_paths = st.lists(_words, min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts))
_sizes = st.builds(
    lambda number, unit: f"{number}{unit}",
    st.integers(1, 900),
    st.sampled_from(["", "b", "k", "KiB", "mb", "MiB", "gb", "GiB", " TiB"]),
)
_durations = st.builds(
    lambda number, unit: f"{number}{unit}",
    st.integers(1, 59),
    st.sampled_from(["", "ms", "s", "m"]),
)
_ssd_paths = st.lists(
    st.tuples(_paths, _sizes), min_size=1, max_size=3, unique_by=lambda p: p[0]
).map(lambda paths: ",".join(f"{path}={size}" for path, size in paths))
_TEXTS: dict[str, SearchStrategy[str]] = {
    "socket": _paths,
    "socket_group": st.just("none") | _words,
    "http_addr": st.just("auto") | st.integers(0, 65535).map(lambda port: f"127.0.0.1:{port}"),
    "http_token_file": st.just("none") | _paths,
    "pool_size": st.just("auto") | _sizes,
    "pool_dir": st.just("auto") | _paths,
    "eviction_policy": st.sampled_from(["density", "lru", "s3fifo", "sieve", "arc", "tinylfu"]),
    "verify": st.sampled_from(["always", "first", "off"]),
    "scrub_period": _durations,
    "ssd": st.just("none") | _ssd_paths,
    "ssd_engine": st.sampled_from(["auto", "uring", "psync"]),
    "ssd_admission": st.sampled_from(["all", "reused"]),
    "ssd_write_budget": st.just("none") | _sizes,
    "ssd_fetch_bytes": _sizes,
    "min_benefit": st.sampled_from(["0", "1", "1.5", "1000"]),
    "warm_on_start": st.sampled_from(["on", "off", "true", "false"]),
    "record_dir": st.just("none") | _paths,
    "record_size": _sizes,
    "otlp_endpoint": st.sampled_from(
        [
            "none",
            "http://127.0.0.1:4317",
            "http://collector:4317/",
            "https://collector",
            "https://[::1]:4318/otlp",
        ]
    ),
    "lease_ttl": _durations,
    "copy_threads": st.integers(1, 64).map(str),
    "copy_strategy": st.sampled_from(["auto", "batch", "plain", "gather"]),
    "max_rate": st.just("none") | st.integers(1, 99).map(lambda number: f"{number}gb"),
    "drain_timeout": _durations,
    "log_level": st.sampled_from(["error", "warn", "info", "debug", "trace"]),
    "log_format": st.sampled_from(["text", "json"]),
    "log_file": st.just("auto") | _paths,
    "pid_file": st.just("auto") | _paths,
}


def some_settings() -> SearchStrategy[dict[str, str]]:
    """A layer of the configuration: some settings with texts that they accept."""
    assert _TEXTS.keys() == SETTINGS.keys(), "every setting has texts to try"
    return st.fixed_dictionaries({}, optional=_TEXTS)
