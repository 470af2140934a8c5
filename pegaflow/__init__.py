"""PegaFlow: an external KV cache for vLLM."""

from pegaflow.version import VERSION as __version__

__all__ = ["__version__"]
