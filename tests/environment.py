"""What programs under test have of this process's environment."""

import os
from typing import Final

_NAMES: Final = frozenset({"PATH", "TMPDIR", "LD_LIBRARY_PATH"})
_KINDS: Final = ("CUDA_", "NVIDIA_")


def bare() -> dict[str, str]:
    """Where programs, libraries, temporary files and GPUs are.

    Whatever else is set here, such as colours, a locale, a service manager's socket or a collector
    for metrics, is this machine's or this terminal's, and changes what programs do.
    """
    return {
        name: text for name, text in os.environ.items() if name in _NAMES or name.startswith(_KINDS)
    }
