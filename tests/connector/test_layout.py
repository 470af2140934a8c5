"""Layouts of KV cache tensors, checked against the addresses of the tensor's own elements."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pegaflow.connector.worker.layout import (
    LayerLayout,
    LayoutError,
    TensorView,
    canonical,
    read_layer,
    read_layers,
    to_json,
)

BLOCKS, HEADS, TOKENS, DIM, LAYERS = 1000, 4, 16, 8, 3
ITEM = 2


@dataclass(frozen=True)
class Case:
    """A tensor: sizes by logical axis, and the axes from outermost to innermost in memory."""

    shape: tuple[int, ...]
    order: tuple[int, ...]
    block_axis: int
    gaps: tuple[int, ...] = ()
    """Extra elements behind each step of an axis of ``order``, from the outermost on."""

    def view(self, address: int = 4096) -> TensorView:
        strides = [0] * len(self.shape)
        extent = 1
        gaps = self.gaps or (0,) * len(self.order)
        for axis, gap in reversed(list(zip(self.order, gaps, strict=True))):
            strides[axis] = extent + gap
            extent = strides[axis] * self.shape[axis]
        return TensorView(self.shape, tuple(strides), ITEM, address)


def bytes_of_block(view: TensorView, axis: int, rows: Sequence[int]) -> set[int]:
    """The addresses of all bytes of a block, element by element."""
    axes = [range(size) for size in view.shape]
    axes[axis] = rows  # type: ignore[call-overload]
    found: set[int] = set()
    for index in itertools.product(*axes):
        start = sum(at * stride for at, stride in zip(index, view.stride, strict=True)) * ITEM
        found.update(range(view.address + start, view.address + start + ITEM))
    return found


def bytes_of_layout(layer: LayerLayout, block: int) -> list[int]:
    base = layer.base_address + block * layer.block_stride
    return [base + offset + at for offset, length in layer.segments for at in range(length)]


def assert_reads(view: TensorView, layer: LayerLayout, axis: int, rows: int = 1) -> None:
    for block in (0, 1, 7):
        found = bytes_of_layout(layer, block)
        assert len(found) == len(set(found)), "a page has a byte twice"
        whole = range(block * rows, (block + 1) * rows)
        assert set(found) == bytes_of_block(view, axis, whole)
    assert found == sorted(found)


def read(view: TensorView, blocks: int = BLOCKS, stride: int | None = None) -> LayerLayout:
    return read_layer("layer", view, num_blocks=blocks, block_tokens=TOKENS, block_stride=stride)


SHAPES = {
    "(2,B,N,H,D)": ((2, BLOCKS, TOKENS, HEADS, DIM), 1),
    "(2,B,H,N,D)": ((2, BLOCKS, HEADS, TOKENS, DIM), 1),
    "(B,2,N,H,D)": ((BLOCKS, 2, TOKENS, HEADS, DIM), 0),
    "(B,H,N,2D)": ((BLOCKS, HEADS, TOKENS, 2 * DIM), 0),
    "MLA (B,N,D)": ((BLOCKS, TOKENS, DIM), 0),
}


@pytest.mark.parametrize(("shape", "axis"), SHAPES.values(), ids=SHAPES.keys())
def test_every_shape_in_every_stride_order_is_read(shape: tuple[int, ...], axis: int) -> None:
    for order in itertools.permutations(range(len(shape))):
        view = Case(shape, order, axis).view()
        assert_reads(view, read(view), axis)


@pytest.mark.parametrize(
    ("layout", "runs"),
    [("LBHNC", 1), ("LBNHC", 1), ("LHBNC", HEADS), ("BLHNC", 1), ("BLNHC", 1), ("BHLNC", HEADS)],
)
def test_vllms_named_layouts_have_the_fewest_runs(layout: str, runs: int) -> None:
    sizes = {"L": LAYERS, "B": BLOCKS, "H": HEADS, "N": TOKENS, "C": 2 * DIM}
    strides, extent = {}, 1
    for axis in reversed(layout):
        strides[axis], extent = extent, extent * sizes[axis]
    for number in range(LAYERS):
        address = 4096 + number * strides["L"] * ITEM
        view = TensorView(
            tuple(sizes[axis] for axis in "BHNC"),
            tuple(strides[axis] for axis in "BHNC"),
            ITEM,
            address,
        )
        layer = read(view)
        assert len(layer.segments) == runs
        assert layer.base_address == address
        assert_reads(view, layer, 0)


def test_keys_and_values_apart_are_two_runs() -> None:
    shape = (2, BLOCKS, TOKENS, HEADS, DIM)
    layer = read(Case(shape, (0, 1, 2, 3, 4), 1).view())

    half = TOKENS * HEADS * DIM * ITEM
    assert layer.block_stride == half
    assert layer.segments == ((0, half), (BLOCKS * half, half))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    blocks = draw(st.integers(8, 40))
    inner = draw(st.lists(st.sampled_from([1, 2, 3, 5, 7]), min_size=1, max_size=3))
    axis = draw(st.integers(0, len(inner)))
    shape = (*inner[:axis], blocks, *inner[axis:])
    order = tuple(draw(st.permutations(range(len(shape)))))
    gaps = tuple(draw(st.lists(st.integers(0, 3), min_size=len(shape), max_size=len(shape))))
    assume(prod(shape) < 6000)
    return Case(shape, order, axis, gaps)


@given(cases())
def test_padded_tensors_of_any_rank_are_read(case: Case) -> None:
    view = case.view()
    layer = read(view, blocks=case.shape[case.block_axis])
    assert_reads(view, layer, case.block_axis)


@given(cases())
def test_blocks_never_overlap(case: Case) -> None:
    blocks = case.shape[case.block_axis]
    layer = read(case.view(), blocks=blocks)
    found = [at for block in range(blocks) for at in bytes_of_layout(layer, block)]
    assert len(found) == len(set(found)) == prod(case.shape) * ITEM


@pytest.mark.parametrize("ratio", [2, 4])
def test_small_kernel_blocks_are_grouped_to_the_schedulers_blocks(ratio: int) -> None:
    view = Case((BLOCKS * ratio, TOKENS // ratio, 24), (0, 1, 2), 0).view()
    layer = read(view)

    assert layer.segments == ((0, TOKENS * 24 * ITEM),)
    assert_reads(view, layer, 0, rows=ratio)


def test_padded_rows_of_kernel_blocks_are_runs_of_their_own() -> None:
    view = Case((BLOCKS * 2, TOKENS // 2, 24), (0, 1, 2), 0, gaps=(8, 0, 0)).view()
    layer = read(view)

    assert len(layer.segments) == 2
    assert_reads(view, layer, 0, rows=2)


# Ambiguity


def test_heads_that_are_as_many_as_blocks_do_not_confuse_when_blocks_lie_outside() -> None:
    view = Case((HEADS, HEADS, TOKENS, DIM), (0, 1, 2, 3), 0).view()
    assert_reads_first(view)


def assert_reads_first(view: TensorView) -> None:
    layer = read(view, blocks=view.shape[0])
    assert layer.block_stride == view.stride[0] * ITEM


def test_a_content_axis_as_large_as_the_pool_does_not_confuse() -> None:
    assert_reads_first(Case((64, 2, 32, 64), (0, 1, 2, 3), 0).view())


def test_kernel_blocks_as_many_as_tokens_do_not_confuse() -> None:
    view = Case((128, 64, 8), (0, 1, 2), 0).view()
    layer = read_layer("layer", view, num_blocks=64, block_tokens=128)
    assert layer.block_stride == 2 * view.stride[0] * ITEM


def test_two_axes_that_could_count_blocks_are_refused() -> None:
    view = Case((HEADS, HEADS, TOKENS, DIM), (1, 0, 2, 3), 0).view()
    with pytest.raises(
        LayoutError, match=r"axes \[0, 1, 2\] of layer layer of shape \[4, 4, 16, 8\]"
    ):
        read(view, blocks=HEADS)


def test_two_blocks_are_not_told_from_keys_and_values() -> None:
    with pytest.raises(LayoutError, match="could each count the cache's blocks"):
        read(Case((2, 2, TOKENS, HEADS, DIM), (0, 1, 2, 3, 4), 1).view(), blocks=2)


@pytest.mark.parametrize("axis", [0, 1])
def test_vllms_own_block_stride_settles_what_the_shape_does_not(axis: int) -> None:
    view = Case((HEADS, HEADS, TOKENS, DIM), (1, 0, 2, 3), axis).view()
    layer = read(view, blocks=HEADS, stride=view.stride[axis] * ITEM)
    assert layer.block_stride == view.stride[axis] * ITEM


def test_a_block_stride_that_no_axis_has_is_refused() -> None:
    with pytest.raises(LayoutError):
        read(Case((BLOCKS, HEADS, TOKENS, DIM), (0, 1, 2, 3), 0).view(), stride=12_345)


def test_a_tensor_without_an_axis_of_blocks_is_refused() -> None:
    with pytest.raises(LayoutError, match="no axis of layer layer of shape"):
        read(Case((BLOCKS - 1, HEADS, TOKENS, DIM), (0, 1, 2, 3), 0).view())


def test_overlapping_elements_are_refused() -> None:
    with pytest.raises(LayoutError, match="overlap"):
        read(TensorView((BLOCKS, HEADS, TOKENS), (TOKENS, TOKENS, 1), ITEM, 4096))


@given(
    sizes=st.lists(st.sampled_from([1, 2, 16]), min_size=2, max_size=4),
    blocks=st.sampled_from([2, 16]),
    data=st.data(),
)
def test_a_tensor_of_small_sizes_is_read_as_vllm_means_it_or_refused(
    sizes: list[int], blocks: int, data: st.DataObject
) -> None:
    """Blocks first, or second behind keys and values: never another reading."""
    split = data.draw(st.booleans())
    shape = (2, blocks, *sizes) if split else (blocks, *sizes)
    axis = int(split)
    view = Case(shape, tuple(data.draw(st.permutations(range(len(shape))))), axis).view()
    try:
        layer = read_layer("layer", view, num_blocks=blocks, block_tokens=TOKENS)
    except LayoutError:
        return
    assert layer.block_stride == view.stride[axis] * ITEM


# Pages


def pool(*names: str) -> dict[str, TensorView]:
    step = BLOCKS * HEADS * TOKENS * DIM * ITEM
    shape = (BLOCKS, HEADS, TOKENS, DIM)
    return {
        name: Case(shape, (0, 1, 2, 3), 0).view(4096 + at * step) for at, name in enumerate(names)
    }


def layers_of(views: dict[str, TensorView]) -> list[LayerLayout]:
    return read_layers(views, num_blocks=BLOCKS, block_tokens=TOKENS, block_strides={})


@given(st.permutations([f"model.layers.{number}.self_attn.attn" for number in range(12)]))
def test_pages_do_not_depend_on_the_order_of_registration(names: list[str]) -> None:
    views = pool(*sorted(names, key=canonical))
    shuffled = {name: views[name] for name in names}

    assert layers_of(shuffled) == layers_of(views)


def test_layers_are_ordered_by_number_and_then_by_name() -> None:
    names = [
        "model.layers.10.attn",
        "model.layers.2.indexer",
        "model.layers.2.attn",
        "model.layers.0.attn",
        "mtp",
    ]
    assert sorted(names, key=canonical) == [
        "model.layers.0.attn",
        "model.layers.2.attn",
        "model.layers.2.indexer",
        "model.layers.10.attn",
        "mtp",
    ]


def test_layers_that_share_a_tensor_are_one() -> None:
    views = pool("model.layers.0.attn", "model.layers.1.attn")
    views["model.layers.2.attn"] = views["model.layers.0.attn"]

    assert [layer.name for layer in layers_of(views)] == [
        "model.layers.0.attn",
        "model.layers.1.attn",
    ]


def test_equal_axes_mean_equal_pages_and_other_orders_other_axes() -> None:
    shape = (BLOCKS, HEADS, TOKENS, DIM)
    packed = read(Case(shape, (0, 1, 2, 3), 0).view())
    heads_outside = read(Case(shape, (1, 0, 2, 3), 0).view())
    tokens_first = read(Case(shape, (0, 2, 1, 3), 0).view())

    assert packed.axes == heads_outside.axes
    assert packed.axes != tokens_first.axes


def test_a_block_in_too_many_pieces_is_refused() -> None:
    view = Case((BLOCKS, 300, 300, 1), (0, 1, 2, 3), 0, gaps=(0, 0, 1, 0)).view()
    with pytest.raises(LayoutError, match="90000 pieces and at most 65536"):
        layers_of({"layer": view})


def test_the_document_for_the_daemon_has_all_that_a_copy_needs() -> None:
    layers = layers_of(pool("model.layers.0.attn"))
    page = HEADS * TOKENS * DIM * ITEM

    assert to_json(layers, num_blocks=BLOCKS, hash_bytes=32) == {
        "hash_bytes": 32,
        "memory": "host",
        "groups": [
            {
                "group": 0,
                "num_blocks": BLOCKS,
                "layers": [
                    {
                        "name": "model.layers.0.attn",
                        "base_address": 4096,
                        "block_stride": page,
                        "segments": [[0, page]],
                    }
                ],
            }
        ],
    }
