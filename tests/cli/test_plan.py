"""``pegaflow plan``: curves, a recommendation, and mistakes."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from pegaflow import _native
from pegaflow.cli import trace_reading
from tests.cli.command_line import CommandLine
from tests.cli.full_disk import no_space
from tests.planning.test_model import QWEN3_8B
from tests.planning.traces import conversations, write_lines

HUGE = "9" * 26


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


def test_what_is_counted_is_said_once_it_takes_long(
    pegaflow: CommandLine, trace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_reading, "_PATIENCE_S", 0.0)
    done = pegaflow("plan", "--trace", trace, "--capacity-blocks", "100", "--json")
    assert done.code == 0 and done.json("plan")
    policies = [f"hits under {policy}" for policy in _native.RecordedRequests.policies()]
    counted = [*policies, "hits of private pools", "hits of an ssd tier"]
    assert done.err.splitlines() == [f"pegaflow: counting {what}" for what in counted]


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
    (tmp_path / "config.json").write_text(json.dumps(QWEN3_8B), encoding="utf-8")
    document = pegaflow(*args, "--model", str(tmp_path)).json("plan")
    assert document["model"]["block_bytes"] == 72 << 20
    assert document["policies"]["lru"][0]["capacity_blocks"] == 10
    assert document["recommended_bytes"] == 720 << 20
    document = pegaflow(*args, "--bytes-per-token", "144KiB").json("plan")
    assert document["policies"]["lru"][0]["capacity_blocks"] == 10


def test_a_heading_is_one_line_above_a_narrow_table(pegaflow: CommandLine, trace: str) -> None:
    done = pegaflow("plan", "--trace", trace, "--capacity-blocks", "100")
    lines = done.out.splitlines()
    at = lines.index("behind 100 blocks of memory under density")
    assert lines[at + 1].startswith("ssd blocks")


def test_the_policies_are_named_in_the_help(
    pegaflow: CommandLine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pegaflow("plan", "--help").code == 0
    policies = [name for name in _native.RecordedRequests.policies() if name != "belady"]
    assert "|".join(policies) in capsys.readouterr().out


def test_one_size_is_not_drawn_in_text(pegaflow: CommandLine, trace: str) -> None:
    done = pegaflow("plan", "--trace", trace, "--capacity-blocks", "100")
    assert "100 blocks" in done.out and "l lru" not in done.out


def test_the_curves_are_drawn_in_text_too(pegaflow: CommandLine, trace: str) -> None:
    lines = pegaflow("plan", "--trace", trace).out.splitlines()
    legend = "l lru, s s3fifo, i sieve, a arc, t tinylfu, d density, b belady"
    at = next(number for number, line in enumerate(lines) if line.strip() == legend)
    plot = "".join(line.partition("|")[2] for line in lines[at - 18 : at])
    assert {"l", "d", "b"} <= set(plot)


def test_an_ssd_tier_has_what_memory_lacks(pegaflow: CommandLine, trace: str) -> None:
    done = pegaflow("plan", "--trace", trace, "--capacity-blocks", "10", "--json",
                    "--ssd-blocks", "100000", "--ssd-blocks", "20")  # fmt: skip
    document = done.json("plan")
    none, some, all_blocks = document["tiers"]
    assert [point["ssd_blocks"] for point in document["tiers"]] == [0, 20, 100000]
    assert none["ssd_percent"] == 0
    assert none["memory_percent"] == document["policies"]["density"][0]["hit_percent"]
    together = all_blocks["memory_percent"] + all_blocks["ssd_percent"]
    assert together == pytest.approx(document["ceiling_percent"], abs=0.02)
    assert 0 < some["ssd_percent"] < all_blocks["ssd_percent"]


def test_loading_is_compared_with_computing(
    pegaflow: CommandLine, trace: str, tmp_path: Path
) -> None:
    args = ["plan", "--trace", trace, "--bytes-per-token", "100KiB", "--json"]
    rates = ["--prefill-rate", "10000", "--load-rate", "4000MiB", "--ssd-rate", "500MiB"]
    document = pegaflow(*args, *rates).json("plan")
    assert document["break_even_bytes_s"] == 10000 * 100 * 1024
    memory, ssd = document["loading"]
    assert (memory["tier"], memory["compute_us"]) == ("memory", 100)
    assert memory["gain"] == pytest.approx(4.1, abs=0.01)
    assert ssd["gain"] == pytest.approx(0.51, abs=0.01)
    assert "loading is 4.1 times as fast" in document["recommendation"]
    slow = pegaflow(*args, "--prefill-rate", "10000", "--load-rate", "100MiB").json("plan")
    assert "not worth it on this machine" in slow["recommendation"]
    transfer = {"schema": "pegaflow.bench-transfer/1",
                "layouts": [{"sizes": [{"load": {"gb_s": 2.048}}]}]}  # fmt: skip
    cold = {"what": "cold", "prompt_tokens": 2000, "cached_tokens": 0, "ttft_ms": [100, 100]}
    ttft = {"schema": "pegaflow.bench-ttft/1", "engines": [{"passes": [cold]}]}
    files = []
    slow = {"schema": "pegaflow.bench-transfer/1",
            "layouts": [{"sizes": [{"load": {"gb_s": 0}}]}]}  # fmt: skip
    (tmp_path / "slow.json").write_text(json.dumps(slow), encoding="utf-8")
    done = pegaflow(*args, "--measured", str(tmp_path / "slow.json"))
    assert done.code == 2 and "slow.json cannot be used" in done.err
    for name, measured in (("transfer.json", transfer), ("ttft.json", ttft)):
        (tmp_path / name).write_text(json.dumps(measured), encoding="utf-8")
        files += ["--measured", str(tmp_path / name)]
    (loading,) = pegaflow(*args, *files).json("plan")["loading"]
    assert (loading["compute_us"], loading["load_us"], loading["gain"]) == (100, 50, 2)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--policy", "mru"], "'mru' is not known; allowed: lru, "),
        (["--capacity-blocks", "0"], "capacity-blocks"),
        (["--bytes-per-token", "0", "--capacity", "1GiB"], "--bytes-per-token '0'"),
        (["--layers", "3"], "give all three"),
        (["--load-rate", "fast"], "--load-rate 'fast'"),
        (["--measured", "/nonexistent"], "--measured /nonexistent"),
        (["--measured", "/dev/null"], "pegaflow bench transfer"),
        (["--bytes-per-token", "x"], "--bytes-per-token 'x'"),
        (["--model", "/nonexistent"], "cannot be read"),
        (["--capacity-blocks", HUGE], f"--capacity-blocks '{HUGE}' cannot be used; allowed: less"),
        (["--ssd-blocks", HUGE], "equal to 1099511627776"),
        (["--instances", "10000000"], "'10000000' cannot be used; allowed: less than or equal to"),
        (["--block-tokens", HUGE], "equal to 1048576"),
        (["--shared-tokens", HUGE], "equal to 16777216"),
        (["--layers", HUGE], "equal to 1048576"),
        (["--kv-heads", HUGE], "equal to 1048576"),
        (["--head-dim", HUGE], "equal to 1048576"),
        (["--prefill-rate", HUGE], "equal to 1000000000000"),
        (["--prefill-rate", "nan"], "--prefill-rate 'nan' cannot be used"),
        (["--load-rate", HUGE], f"--load-rate '{HUGE}' cannot be used; allowed: a size below 8EiB"),
        (["--capacity", "7EiB", "--bytes-per-token", "1"], "--capacity '7EiB' is "),
        (["--timeout", "1s"], "--timeout is for --live: leave one of the two out"),
    ],
)
def test_mistakes_are_answered_with_what_is_allowed(
    pegaflow: CommandLine, trace: str, args: list[str], says: str
) -> None:
    done = pegaflow("plan", "--trace", trace, *args)
    assert (done.code, done.out) == (2, "")
    assert says in done.err


def test_the_largest_of_all_values_are_planned_with(pegaflow: CommandLine, trace: str) -> None:
    most = str(1 << 20)
    done = pegaflow("plan", "--trace", trace, "--capacity-blocks", str(1 << 40),
                    "--ssd-blocks", str(1 << 40), "--instances", "1024", "--layers", most,
                    "--kv-heads", most, "--head-dim", most, "--prefill-rate", "1e12",
                    "--load-rate", "1", "--ssd-rate", "7EiB")  # fmt: skip
    assert (done.code, done.err) == (0, "")


def test_options_of_another_kind_of_plan_are_refused(pegaflow: CommandLine) -> None:
    for option in (["--capacity-blocks", "1000"], ["--model", "x"], ["--count-partial"]):
        done = pegaflow("plan", "--live", *option)
        assert done.code == 2
        assert f"{option[0]} is for --trace FILE: leave one of the two out" in done.err
        assert pegaflow.sockets == []


def test_a_recording_of_blocks_without_bytes_says_nothing_of_their_size(
    pegaflow: CommandLine, tmp_path: Path
) -> None:
    line = {"timestamp": 0, "namespace": "a", "block_bytes": 0, "hash_ids": [1, 2]}
    path = write_lines(tmp_path / "trace.jsonl", [line, line])
    done = pegaflow("plan", "--trace", str(path), "--prefill-rate", "1", "--load-rate", "1",
                    "--json")  # fmt: skip
    assert done.json("plan")["model"] is None


def test_lines_that_are_passed_over_are_said(pegaflow: CommandLine, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "trace.jsonl", conversations(3))
    path.write_text(path.read_text(encoding="utf-8") + "{broken\n", encoding="utf-8")
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
    png = tmp_path / "plot.png"
    assert pegaflow("plan", "--trace", trace, "--plot", str(png)).code == 0
    with Image.open(png) as image:
        image.load()
        colours = image.getcolors(1 << 16)
    assert image.size == (1800, 1040) and colours is not None and len(colours) > 6
    for name in ("plot.gif", "plot", ".svg"):
        done = pegaflow("plan", "--trace", "/nonexistent", "--plot", name)
        assert done.code == 2
        assert f"--plot {name!r} is no picture; allowed: names that end in .svg or" in done.err
    done = pegaflow("plan", "--trace", trace, "--plot", str(tmp_path / "absent" / "plot.svg"))
    assert done.code == 2 and "cannot be written" in done.err


def test_a_plot_on_a_full_disk_leaves_the_one_before(
    pegaflow: CommandLine, trace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pegaflow.whole_file.os.fsync", no_space)
    plot, new = tmp_path / "plot.svg", tmp_path / "new.svg"
    plot.write_text("before", encoding="utf-8")
    for file in (plot, new):
        done = pegaflow("plan", "--trace", trace, "--plot", str(file))
        assert (done.code, done.out) == (1, "")
        assert done.err == (
            f"pegaflow: {file} cannot be written to its end: No space left on device\n"
        )
    assert plot.read_text(encoding="utf-8") == "before" and not new.exists()


def test_a_trace_without_reuse_is_worth_no_cache(pegaflow: CommandLine, tmp_path: Path) -> None:
    lines: list[dict[str, object]] = [
        {"timestamp": n, "input_length": 512, "output_length": 1, "hash_ids": [n]}
        for n in range(50)
    ]
    done = pegaflow("plan", "--trace", str(write_lines(tmp_path / "t.jsonl", lines)))
    assert "not worth it" in done.out.splitlines()[-1]


def test_a_trace_without_content_does_not_say_that_a_cache_is_worth_nothing(
    pegaflow: CommandLine, tmp_path: Path
) -> None:
    file = tmp_path / "azure.csv"
    rows = "".join(f"2023-11-16 18:17:{n:02},600,1\n" for n in range(50))
    file.write_text(f"TIMESTAMP,ContextTokens,GeneratedTokens\n{rows}", encoding="utf-8")
    last = pegaflow("plan", "--trace", str(file)).out.splitlines()[-1]
    assert "cannot be told" in last and "--shared-tokens" in last
    supposed = pegaflow("plan", "--trace", str(file), "--shared-tokens", "512")
    assert "share one pool" in supposed.out.splitlines()[-1]
