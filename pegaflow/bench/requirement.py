"""Libraries that only measurements need."""

import importlib
import sys
from typing import Any

from pegaflow.errors import ConfigError


def required(name: str) -> Any:
    """The module ``name`` of an extra for GPUs; raises ``ConfigError`` that says how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ConfigError(
            f"{name} cannot be imported by {sys.executable} ({error}), and measuring on a GPU "
            "needs it: run `pip install 'pegaflow-kv[gpu13]'` (CUDA 13) or "
            "`pip install 'pegaflow-kv[gpu12]'` (CUDA 12) there"
        ) from error
