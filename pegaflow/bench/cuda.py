"""A GPU by cupy: plain allocations, as engines export them, and what copies reach."""

import ctypes
import mmap
import random
import time
from functools import cached_property
from typing import Any, Final

from pegaflow.bench.figures import rate
from pegaflow.bench.memory import Limit
from pegaflow.bench.requirement import required
from pegaflow.errors import ConfigError

_SIZE: Final = 1 << 30
_ROUNDS: Final = 5
_TO_DEVICE: Final = 1
_TO_HOST: Final = 2
_IN_STREAM_ORDER: Final = 1


class _CopyAttributes(ctypes.Structure):
    """``CUmemcpyAttributes``: no hints where memory is."""

    _fields_ = (
        ("source_access_order", ctypes.c_uint),
        ("hints", ctypes.c_int * 4),
        ("flags", ctypes.c_uint),
    )


class CudaDevice:
    """The first GPU that this process sees."""

    kind = "cuda"

    def __init__(self) -> None:
        self._cupy = required("cupy")
        runtime = self._cupy.cuda.runtime
        try:
            properties = runtime.getDeviceProperties(0)
        except runtime.CUDARuntimeError as error:
            raise ConfigError(f"no GPU can be used: {error}; measure with --device cpu") from error
        self.name = properties["name"].decode()
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._streams = [self._cupy.cuda.Stream(non_blocking=True) for _ in range(2)]

    @cached_property
    def _device(self) -> Any:
        return self._cupy.cuda.Memory(2 * _SIZE)

    @cached_property
    def _host(self) -> Any:
        return self._cupy.cuda.alloc_pinned_memory(2 * _SIZE)

    def allocate(self, size: int) -> "CudaMemory":
        """Memory for an engine's blocks."""
        return CudaMemory(self._cupy, size)

    def limit(self) -> Limit:
        """One copy of 1 GiB between pinned memory and the GPU."""
        load = min(self._seconds(_TO_DEVICE) for _ in range(_ROUNDS))
        save = min(self._seconds(_TO_HOST) for _ in range(_ROUNDS))
        both = min(self._seconds(_TO_DEVICE, _TO_HOST) for _ in range(_ROUNDS))
        how = "one copy of 1 GiB of pinned memory by cupy, the best of 5"
        return Limit(rate(_SIZE, load), rate(_SIZE, save), rate(2 * _SIZE, both), how)

    def copy_seconds(self, size: int, rounds: int) -> list[float]:
        """Of single copies to the GPU."""
        laps = []
        for _ in range(rounds):
            offset = random.randrange(_SIZE // size) * size
            began = time.perf_counter()
            self._submit(_TO_DEVICE, offset, size, self._streams[0])
            self._streams[0].synchronize()
            laps.append(time.perf_counter() - began)
        return laps

    def batch_rates(self, run_bytes: int) -> dict[str, float] | None:
        """GB/s of 1 GiB in one call, runs drawn at random on both sides; the best of some."""
        try:
            call = self._driver.cuMemcpyBatchAsync
        except AttributeError:
            return None
        batches = {kind: _Batch(self, run_bytes, kind) for kind in (_TO_DEVICE, _TO_HOST)}
        best = {
            kind: min(batch.seconds(call) for _ in range(_ROUNDS))
            for kind, batch in batches.items()
        }
        size = batches[_TO_DEVICE].size
        return {"load": rate(size, best[_TO_DEVICE]), "save": rate(size, best[_TO_HOST])}

    @property
    def stream(self) -> Any:
        """A stream for the calls of others."""
        return self._streams[0]

    @property
    def buffers(self) -> tuple[int, int]:
        """Addresses of 2 GiB on the GPU and on the host, whose bytes do not matter."""
        return self._device.ptr, self._host.ptr

    def _seconds(self, *kinds: int) -> float:
        """Until copies of 1 GiB have ended, one of each kind, side by side."""
        lanes = list(zip(kinds, self._streams, strict=False))
        began = time.perf_counter()
        for number, (kind, stream) in enumerate(lanes):
            self._submit(kind, number * _SIZE, _SIZE, stream)
        for _, stream in lanes:
            stream.synchronize()
        return time.perf_counter() - began

    def _submit(self, kind: int, offset: int, size: int, stream: Any) -> None:
        device, host = self._device.ptr + offset, self._host.ptr + offset
        target, source = (device, host) if kind == _TO_DEVICE else (host, device)
        self._cupy.cuda.runtime.memcpyAsync(target, source, size, kind, stream.ptr)


class _Batch:
    """One call's arguments: 1 GiB of runs at random places of 2 GiB."""

    def __init__(self, device: CudaDevice, run_bytes: int, kind: int) -> None:
        self._device = device
        self._count = _SIZE // run_bytes
        self.size = self._count * run_bytes
        places = ctypes.c_uint64 * self._count
        gpu, host = (
            places(*(base + place * run_bytes for place in self._draw(run_bytes)))
            for base in device.buffers
        )
        self._targets, self._sources = (gpu, host) if kind == _TO_DEVICE else (host, gpu)
        self._sizes = (ctypes.c_size_t * self._count)(*[run_bytes] * self._count)

    def seconds(self, call: Any) -> float:
        """From the call to the end of its copies."""
        attributes = _CopyAttributes(source_access_order=_IN_STREAM_ORDER)
        first, failed = ctypes.c_size_t(0), ctypes.c_size_t()
        stream = self._device.stream
        began = time.perf_counter()
        code = call(
            self._targets,
            self._sources,
            self._sizes,
            ctypes.c_size_t(self._count),
            ctypes.byref(attributes),
            ctypes.byref(first),
            ctypes.c_size_t(1),
            ctypes.byref(failed),
            ctypes.c_void_p(stream.ptr),
        )
        if code != 0:
            raise ConfigError(f"the driver's batch call answers {code}")
        stream.synchronize()
        return time.perf_counter() - began

    def _draw(self, run_bytes: int) -> list[int]:
        return random.sample(range(2 * _SIZE // run_bytes), self._count)


class CudaMemory:
    """One plain allocation, and a stream that transfers wait for."""

    def __init__(self, cupy: Any, size: int) -> None:
        self._runtime = cupy.cuda.runtime
        self._size = size
        self._stream = cupy.cuda.Stream(non_blocking=True)
        self.stream = int(self._stream.ptr)
        self.address = int(self._runtime.malloc(size))

    def upload(self, mirror: mmap.mmap) -> None:
        """Put bytes of the host there."""
        self._copy(self.address, _address_of(mirror), _TO_DEVICE)

    def download(self, mirror: mmap.mmap) -> None:
        """Get all bytes from there."""
        self._copy(_address_of(mirror), self.address, _TO_HOST)

    def free(self) -> None:
        """Give it back."""
        self._runtime.free(self.address)

    def _copy(self, target: int, source: int, kind: int) -> None:
        self._runtime.memcpyAsync(target, source, self._size, kind, self.stream)
        self._stream.synchronize()


def _address_of(mirror: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(mirror))
