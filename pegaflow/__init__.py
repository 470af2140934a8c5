"""PegaFlow: an external KV cache for vLLM."""

try:
    from pegaflow._native import VERSION as _native_version
except ModuleNotFoundError as error:
    raise ImportError("pegaflow's native module is not built; `make build` builds it") from error

from pegaflow.version import VERSION as __version__

if _native_version != __version__:
    raise ImportError(
        f"pegaflow {__version__} has the native module of {_native_version}; "
        "install pegaflow-kv again, or run `make build` in a checkout"
    )

__all__ = ["__version__"]
