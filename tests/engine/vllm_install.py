"""Which vLLM the engine suite runs, and the environment that makes it small and repeatable."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

BLOCK_TOKENS: Final = 32
"""vLLM's block size: on the CPU a multiple of 32."""

MAX_TOKENS: Final = 1024
"""Longest prompt with its answer."""

_GPU_CACHE_BYTES: Final = 256 << 20

_CHECKOUT: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class VllmInstall:
    """A virtual environment that holds vLLM and our wheel, by its interpreter."""

    python: Path
    has_gpu: bool = False

    @classmethod
    def chosen(cls) -> "VllmInstall":
        """The one that ``VLLM_PYTHON`` names, else the checkout's ``.venv-vllm``."""
        named = os.environ.get("VLLM_PYTHON")
        return cls(Path(named).absolute() if named else _CHECKOUT / ".venv-vllm/bin/python")

    @property
    def pegaflow(self) -> tuple[str, ...]:
        """Its command line."""
        return (str(self.python), "-P", "-m", "pegaflow")

    @property
    def options(self) -> tuple[str, ...]:
        """What ``vllm serve`` is given besides, for the device.

        Several engines share a GPU. Triton's attention computes in float32, as the processor does.
        """
        if not self.has_gpu:
            return ()
        memory = ("--gpu-memory-utilization=0.25", f"--kv-cache-memory-bytes={_GPU_CACHE_BYTES}")
        return ("--attention-backend=TRITON_ATTN", *memory)

    def environment(self, socket: Path) -> dict[str, str]:
        """This process's environment with what an engine needs to find ``socket``.

        On a GPU it is the machine's, which may say how its vLLM is to be run.
        """
        found = dict(os.environ) if self.has_gpu else _for_processors()
        return found | {
            "PEGAFLOW_SOCKET": str(socket),
            # Else the first request with logprobs compiles for 17 s.
            "TORCHDYNAMO_DISABLE": "1",
            "PYTHONHASHSEED": "0",
            "HF_HUB_OFFLINE": "1",
            "VLLM_NO_USAGE_STATS": "1",
            "VLLM_SERVER_DEV_MODE": "1",
        }


def _for_processors() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("VLLM_")}
    return kept | {
        # With two OpenMP threads on two busy cores a step is 30 times slower.
        "OMP_NUM_THREADS": "1",
        # Else vLLM gives each worker a thread on every core all the same.
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "VLLM_CPU_KVCACHE_SPACE": "1",
    }
