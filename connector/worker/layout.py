"""Where the bytes of a block are: read from a tensor's shape and stride, never assumed.

A page holds a block's bytes of all layers, layers in canonical order and each layer's axes in their
physical order, so two workers have equal pages exactly when they have equal ``axes`` in each layer.
"""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

_MAX_SEGMENTS: Final = 65_536
"""Of one block over all layers: the protocol's limit."""

_NUMBER: Final = re.compile(r"(?:^|\.)(\d+)(?:\.|$)")


class LayoutError(ValueError):
    """A tensor whose layout cannot be told with certainty; the text is a sentence."""


@dataclass(frozen=True)
class TensorView:
    """What the layout of a tensor is read from."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    """Elements from one index to the next, for each axis."""
    itemsize: int
    """Bytes of an element."""
    address: int


@dataclass(frozen=True)
class LayerLayout:
    """One layer's part of a block: at ``base_address + block * block_stride + offset``."""

    name: str
    base_address: int
    block_stride: int
    segments: tuple[tuple[int, int], ...]
    """(offset, length) in bytes, ascending."""
    axes: tuple[tuple[int, int], ...]
    """(axis of the tensor, size) from the outermost in memory to the innermost."""


@dataclass(frozen=True)
class _Axis:
    index: int
    size: int
    stride: int
    """Bytes."""


@dataclass(frozen=True)
class _Blocks:
    """A way to read a tensor: ``axis`` counts blocks, each of ``rows`` rows."""

    axis: _Axis
    rows: int

    @property
    def stride(self) -> int:
        return self.axis.stride * self.rows


def read_layers(
    views: Mapping[str, TensorView],
    *,
    num_blocks: int,
    block_tokens: int,
    block_strides: Mapping[str, int],
) -> list[LayerLayout]:
    """The layout of each distinct tensor, in canonical order.

    ``block_tokens`` are those that this worker's part of a block holds; ``block_strides`` are
    the bytes from block to block where vLLM states them. Layers that share a tensor are one.
    Raises ``LayoutError``.
    """
    layers: list[LayerLayout] = []
    seen: set[TensorView] = set()
    for name in sorted(views, key=canonical):
        if views[name] not in seen:
            seen.add(views[name])
            layers.append(
                read_layer(
                    name,
                    views[name],
                    num_blocks=num_blocks,
                    block_tokens=block_tokens,
                    block_stride=block_strides.get(name),
                )
            )
    count = sum(len(layer.segments) for layer in layers)
    if count > _MAX_SEGMENTS:
        raise LayoutError(
            f"a block lies in {count} pieces and at most {_MAX_SEGMENTS} are allowed; choose a KV "
            "cache layout with blocks outside of heads (VLLM_KV_CACHE_LAYOUT)"
        )
    return layers


def read_layer(
    name: str,
    view: TensorView,
    *,
    num_blocks: int,
    block_tokens: int,
    block_stride: int | None = None,
) -> LayerLayout:
    """The layout of one layer; raises ``LayoutError``."""
    axes = [
        _Axis(index, size, stride * view.itemsize)
        for index, (size, stride) in enumerate(zip(view.shape, view.stride, strict=True))
    ]
    blocks = _choose(name, view, _readings(axes, num_blocks, block_tokens), block_stride)
    inner = [axis for axis in axes if axis is not blocks.axis and axis.size > 1]
    if blocks.rows > 1:
        inner.append(_Axis(blocks.axis.index, blocks.rows, blocks.axis.stride))
    inner.sort(key=lambda axis: -axis.stride)
    _check_disjoint(name, view, [*inner, _Axis(-1, num_blocks, blocks.stride)])
    return LayerLayout(
        name=name,
        base_address=view.address,
        block_stride=blocks.stride,
        segments=tuple(_segments(inner, view.itemsize)),
        axes=tuple((axis.index, axis.size) for axis in inner),
    )


def canonical(name: str) -> tuple[float, str]:
    """Sorts layers by the first number in their name, then by name."""
    number = _NUMBER.search(name)
    return (int(number[1]) if number else float("inf"), name)


def to_json(
    layers: Iterable[LayerLayout], *, num_blocks: int, hash_bytes: int, memory: str = "host"
) -> dict[str, Any]:
    """The document that the native client registers; ``memory`` is ``host`` or ``cuda``."""
    return {
        "hash_bytes": hash_bytes,
        "memory": memory,
        "groups": [
            {
                "group": 0,
                "num_blocks": num_blocks,
                "layers": [
                    {
                        "name": layer.name,
                        "base_address": layer.base_address,
                        "block_stride": layer.block_stride,
                        "segments": [list(segment) for segment in layer.segments],
                    }
                    for layer in layers
                ],
            }
        ],
    }


def _readings(axes: Sequence[_Axis], num_blocks: int, block_tokens: int) -> list[_Blocks]:
    """Every way in which an axis can count blocks.

    An attention kernel may use smaller blocks than the scheduler: then the axis has several
    rows for each block and another axis has the tokens of one row.
    """
    readings = []
    for axis in axes:
        rows, rest = divmod(axis.size, num_blocks)
        others = {other.size for other in axes if other is not axis}
        if rest == 0 and rows == 1:
            readings.append(_Blocks(axis, 1))
        elif rest == 0 and rows and block_tokens % rows == 0 and block_tokens // rows in others:
            readings.append(_Blocks(axis, rows))
    return readings


def _choose(
    name: str, view: TensorView, readings: list[_Blocks], block_stride: int | None
) -> _Blocks:
    found = readings
    if block_stride is not None:
        found = [reading for reading in found if reading.stride == block_stride]
    if len(found) > 1:
        found = [reading for reading in found if _is_evident(reading, found, view.shape)]
    if len(found) == 1:
        return found[0]
    where = f"layer {name} of shape {list(view.shape)} and stride {list(view.stride)}"
    if not readings:
        raise LayoutError(f"no axis of {where} counts the cache's blocks")
    raise LayoutError(
        f"axes {[reading.axis.index for reading in readings]} of {where} could each count the "
        "cache's blocks; change num_gpu_blocks_override so that only one has that size"
    )


def _is_evident(reading: _Blocks, found: Iterable[_Blocks], shape: Sequence[int]) -> bool:
    """Whether the place of the axis, in the shape and in memory, tells it from the others.

    Blocks are the first axis in every vLLM release, or the second behind keys and values.
    """
    places = {0, 1} if shape[0] == 2 else {0}
    first = [other for other in found if other.axis.index in places]
    return first == [reading] and all(reading.axis.stride >= other.axis.stride for other in found)


def _check_disjoint(name: str, view: TensorView, axes: list[_Axis]) -> None:
    extent = view.itemsize
    for axis in sorted(axes, key=lambda axis: axis.stride):
        if axis.size > 1 and axis.stride < extent:
            raise LayoutError(
                f"elements of layer {name} of shape {list(view.shape)} and stride "
                f"{list(view.stride)} overlap"
            )
        extent = max(extent, axis.stride * axis.size)


def _segments(inner: Sequence[_Axis], itemsize: int) -> Iterable[tuple[int, int]]:
    """``inner`` goes from the outermost axis to the innermost; dense inner axes become one run."""
    run, outer = itemsize, list(inner)
    while outer and outer[-1].stride == run:
        run *= outer.pop().size
    steps = [range(0, axis.size * axis.stride, axis.stride) for axis in outer]
    return ((sum(offsets), run) for offsets in itertools.product(*steps))
