"""``pegaflow plan``: curves, a recommendation, and mistakes."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pegaflow import _native
from tests.cli.command_line import CommandLine
from tests.planning.test_model import QWEN3_8B
from tests.planning.traces import conversations, write_lines


@pytest.fixture
def trace(tmp_path: Path) -> str:
    return str(write_lines(tmp_path / "trace.jsonl", conversations(2)))


def test_all_policies_are_compared_at_the_size_that_is_asked_for(
    pegaflow: CommandLine, trace: str
) -> None:
    done = pegaflow("plan", "--trace", trace, "--capacity-blocks", "100", "--json")
    assert (done.code, done.err) == (0, "")
    document = done.json("plan")
    assert list(document["policies"]) == _native.RecordedRequests.policies()
    sizes = [[point["capacity_blocks"] for point in c] for c in document["policies"].values()]
    assert all(size == [100] for size in sizes)


def test_no_policy_is_above_the_bound_and_all_reach_the_ceiling(
    pegaflow: CommandLine, trace: str
) -> None:
    document = pegaflow("plan", "--trace", trace, "--json").json("plan")
    bound = document["policies"]["belady"]
    for curve in document["policies"].values():
        assert len(curve) > 10
        assert curve[-1]["hit_percent"] == document["ceiling_percent"]
        pairs = zip(curve, bound, strict=True)
        assert all(point["hit_percent"] <= most["hit_percent"] for point, most in pairs)


def test_the_recommendation_gives_its_reasons(pegaflow: CommandLine, trace: str) -> None:
    done = pegaflow("plan", "--trace", trace, "--instances", "4")
    assert done.code == 0
    last = done.out.splitlines()[-1]
    assert "share one pool of" in last
    assert "4 private pools" in last and "round-robin" in last and "sticky" in last


def test_sizes_in_bytes_need_the_bytes_of_a_token(
    pegaflow: CommandLine, trace: str, tmp_path: Path
) -> None:
    args = ["plan", "--trace", trace, "--capacity", "720MiB", "--json"]
    done = pegaflow(*args)
    assert done.code == 2 and "--model" in done.err
    (tmp_path / "config.json").write_text(json.dumps(QWEN3_8B))
    document = pegaflow(*args, "--model", str(tmp_path)).json("plan")
    assert document["model"]["block_bytes"] == 72 << 20
    assert document["policies"]["lru"][0]["capacity_blocks"] == 10
    assert document["recommended_bytes"] == 720 << 20
    document = pegaflow(*args, "--bytes-per-token", "144KiB").json("plan")
    assert document["policies"]["lru"][0]["capacity_blocks"] == 10


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--policy", "mru"], "'mru' is not known; allowed: lru, "),
        (["--capacity-blocks", "0"], "capacity-blocks"),
        (["--bytes-per-token", "0", "--capacity", "1GiB"], "from 1 on"),
        (["--bytes-per-token", "x"], "--bytes-per-token 'x'"),
        (["--model", "/nonexistent"], "cannot be read"),
    ],
)
def test_mistakes_are_answered_with_what_is_allowed(
    pegaflow: CommandLine, trace: str, args: list[str], says: str
) -> None:
    done = pegaflow("plan", "--trace", trace, *args)
    assert (done.code, done.out) == (2, "")
    assert says in done.err


def test_lines_that_are_passed_over_are_said(pegaflow: CommandLine, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "trace.jsonl", conversations(3))
    path.write_text(path.read_text() + "{broken\n")
    done = pegaflow("plan", "--trace", str(path), "--json")
    assert done.code == 2 and "line 201" in done.err
    done = pegaflow("plan", "--trace", str(path), "--skip-bad", "--json")
    assert done.code == 0 and "line 201" in done.err
    assert len(done.json("plan")["trace"]["skipped"]) == 1


def test_the_curves_are_drawn(pegaflow: CommandLine, trace: str, tmp_path: Path) -> None:
    plot = tmp_path / "plot.svg"
    assert pegaflow("plan", "--trace", trace, "--plot", str(plot)).code == 0
    picture = ElementTree.parse(plot).getroot()
    names = {text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")}
    assert set(_native.RecordedRequests.policies()) <= names
    done = pegaflow("plan", "--trace", trace, "--plot", str(tmp_path / "absent" / "plot.svg"))
    assert done.code == 2 and "cannot be written" in done.err


def test_a_trace_without_reuse_is_worth_no_cache(pegaflow: CommandLine, tmp_path: Path) -> None:
    lines: list[dict[str, object]] = [
        {"timestamp": n, "input_length": 512, "output_length": 1, "hash_ids": [n]}
        for n in range(50)
    ]
    done = pegaflow("plan", "--trace", str(write_lines(tmp_path / "t.jsonl", lines)))
    assert "not worth it" in done.out.splitlines()[-1]
