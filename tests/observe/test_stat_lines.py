"""Snapshots as lines of text."""

from hypothesis import given
from hypothesis import strategies as st

from pegaflow.observe.fleet import Unanswered
from pegaflow.observe.reading import snapshot
from pegaflow.observe.scripted import ScriptedSource
from pegaflow.observe.stat_lines import StatLines
from tests.observe.clock import Clock

_BEGAN = 1_700_000_000.0
_NAMES = st.text("ab.:1", min_size=1, max_size=40)


def test_a_line_of_text_has_its_values_under_their_headings() -> None:
    source = ScriptedSource("gpu-1", Clock(_BEGAN + 30), _BEGAN)
    stat, gap = StatLines(["gpu-1", "gpu-9"]), Unanswered("gpu-9", "it does not answer")
    assert [stat.heading, stat.line(snapshot(source.read())), stat.gap(gap, _BEGAN)] == [
        "time      host            state      mem   ssd   hit   asked/s     save/s     load/s"
        "   p99 load  leases   evict  notes",
        "22:13:50  gpu-1           ready      67%   56%   81%     1,014    948 MiB    1.4 GiB"
        "    19.0 ms       6   7,405",
        "22:13:20  gpu-9           no answer: it does not answer",
    ]


def test_a_long_name_is_cut_in_the_middle_where_a_terminal_has_no_room() -> None:
    gap = Unanswered("gpu-17.cluster.example:9091", "why")
    for columns, name in (
        (None, "gpu-17.cluster.example:9091"),
        (80, "gpu-17..e:9091"),
        (122, "gpu-17.c..ple:9091"),
        (200, "gpu-17.cluster.example:9091"),
    ):
        stat = StatLines([gap.host], columns)
        assert stat.gap(gap, _BEGAN) == f"22:13:20  {name}  no answer: why"
        assert len(stat.heading) <= max(columns or 200, 118)


@given(names=st.sets(_NAMES, min_size=1, max_size=5), columns=st.none() | st.integers(1, 200))
def test_names_that_differ_stay_different(names: set[str], columns: int | None) -> None:
    stat = StatLines(names, columns)
    lines = {stat.gap(Unanswered(name, "why"), _BEGAN) for name in names}
    assert len(lines) == len(names)
    assert len(set(map(len, lines))) == 1
