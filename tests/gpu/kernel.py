"""The kernel that collects blocks, made of its source by NVIDIA's run-time compiler."""

import ctypes
import hashlib
import importlib.util
import sys
from pathlib import Path
from typing import Final

from tests.gpu.line_process import ROOT

SOURCE: Final = ROOT / "native/core/src/cuda/gather.cu"
PTX: Final = ROOT / "native/core/src/cuda/gather.ptx"
VERSION: Final = (12, 0)
"""The compiler's: a driver for CUDA 12.0 reads what it writes, and so do all later ones."""


def head() -> str:
    """The first line of the PTX, which names its source."""
    return f"// gather.cu, sha256 {hashlib.sha256(SOURCE.read_bytes()).hexdigest()}\n"


def compiler() -> ctypes.CDLL | None:
    """The compiler of the package nvidia-cuda-nvrtc-cu12 in that version, where it is installed."""
    if importlib.util.find_spec("nvidia") is None:
        return None
    package = importlib.util.find_spec("nvidia.cuda_nvrtc")
    for folder in (package and package.submodule_search_locations) or ():
        for path in Path(folder).glob("lib/libnvrtc.so.*"):
            library = ctypes.CDLL(str(path))
            major, minor = ctypes.c_int(), ctypes.c_int()
            library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
            if (major.value, minor.value) == VERSION:
                return library
    return None


def compiled(library: ctypes.CDLL) -> str:
    """The PTX of the source, for GPUs from sm_75 on."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    source, name = SOURCE.read_bytes(), SOURCE.name.encode()
    options = (ctypes.c_char_p * 1)(b"--gpu-architecture=compute_75")
    assert not library.nvrtcCreateProgram(ctypes.byref(program), source, name, 0, None, None)
    code = library.nvrtcCompileProgram(program, 1, options)
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    assert code == 0, log.value.decode()
    library.nvrtcGetPTXSize(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    library.nvrtcGetPTX(program, text)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return head() + text.value.decode()


if __name__ == "__main__":
    found = compiler()
    if found is None:
        sys.exit("install nvidia-cuda-nvrtc-cu12==12.0.140")
    PTX.write_text(compiled(found), encoding="utf-8")
