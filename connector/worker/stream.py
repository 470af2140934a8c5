"""The CUDA stream of this thread."""

import sys
from typing import Any


def current_stream() -> int:
    """The stream on which this thread launches work, as the CUDA runtime has it; 0 without CUDA.

    Asks torch where vLLM has loaded it: nothing here does.
    """
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return 0
    return int(torch.cuda.current_stream().cuda_stream)
