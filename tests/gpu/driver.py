"""What an engine does with the driver by itself: allocate, fill, keep a stream busy."""

import ctypes
import os
from pathlib import Path
from typing import Final

ON_GPU: Final = "PEGAFLOW_TEST_GPU" in os.environ

_SPIN: Final = Path(__file__).with_name("spin.ptx").read_bytes()
"""A kernel that waits by the GPU's clock."""


class Driver:
    """The first GPU's context, current on this thread, and one stream."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libcuda.so.1" if ON_GPU else "libcuda.so")
        device, context, stream = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cuInit", 0)
        self._call("cuDeviceGet", ctypes.byref(device), 0)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._call("cuCtxPushCurrent_v2", context)
        self._call("cuStreamCreate", ctypes.byref(stream), 1)
        self._stream = stream
        self._spin = ctypes.c_void_p()
        if ON_GPU:
            module = ctypes.c_void_p()
            self._call("cuModuleLoadData", ctypes.byref(module), _SPIN)
            self._call("cuModuleGetFunction", ctypes.byref(self._spin), module, b"spin")

    @property
    def stream(self) -> int:
        """The stream, as the CUDA runtime has it."""
        return self._stream.value or 0

    def allocate(self, size: int) -> int:
        """The address of ``size`` bytes on the GPU."""
        address = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address.value

    def free(self, address: int) -> None:
        """Give back what ``allocate`` gave."""
        self._call("cuMemFree_v2", ctypes.c_uint64(address))

    def allocate_pinned(self, size: int) -> int:
        """The address of ``size`` pinned bytes of the host."""
        address = ctypes.c_void_p()
        self._call("cuMemHostAlloc", ctypes.byref(address), ctypes.c_size_t(size), 0)
        assert address.value is not None
        return address.value

    def copy(self, device: int, host: int, size: int, *, is_to_device: bool) -> None:
        """Copy between the GPU and pinned memory, and wait for the end."""
        gpu, cpu, count = ctypes.c_uint64(device), ctypes.c_void_p(host), ctypes.c_size_t(size)
        if is_to_device:
            self._call("cuMemcpyHtoDAsync_v2", gpu, cpu, count, self._stream)
        else:
            self._call("cuMemcpyDtoHAsync_v2", cpu, gpu, count, self._stream)
        self.wait()

    def peek(self, address: int, size: int) -> bytes:
        """Bytes of the GPU as they are now, whatever the stream is at."""
        copy = ctypes.create_string_buffer(size)
        self._call("cuMemcpyDtoH_v2", copy, ctypes.c_uint64(address), ctypes.c_size_t(size))
        return copy.raw

    def poke(self, address: int, content: bytes) -> None:
        """Put bytes on the GPU now."""
        size = ctypes.c_size_t(len(content))
        self._call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), content, size)

    def fill_later(self, address: int, size: int, value: int, milliseconds: int) -> None:
        """Keep the stream busy for a while, and only then fill memory with one value."""
        if ON_GPU:
            nanoseconds = ctypes.c_uint64(milliseconds * 1_000_000)
            arguments = (ctypes.c_void_p * 1)(ctypes.addressof(nanoseconds))
            self._call(
                "cuLaunchKernel", self._spin, 1, 1, 1, 1, 1, 1, 0, self._stream, arguments, None
            )
        else:
            self._call("standInBusy", self._stream, ctypes.c_uint64(milliseconds))
        self._call(
            "cuMemsetD8Async",
            ctypes.c_uint64(address),
            ctypes.c_ubyte(value),
            ctypes.c_size_t(size),
            self._stream,
        )

    def wait(self) -> None:
        """Wait until the stream has ended what it has."""
        event = ctypes.c_void_p()
        self._call("cuEventCreate", ctypes.byref(event), 2)
        self._call("cuEventRecord", event, self._stream)
        while (code := self._library.cuEventQuery(event)) == 600:
            pass
        assert code == 0, f"cuEventQuery answers {code}"
        self._call("cuEventDestroy_v2", event)

    def used_bytes(self) -> int:
        """Memory of the GPU that some process has."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return total.value - free.value

    def _call(self, name: str, *arguments: object) -> None:
        code = self._library[name](*arguments)
        assert code == 0, f"{name} answers {code}"
