"""The tables that are made of the file of GPU results, and that the README has the newest."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.gpu_results.document import join
from tests.bench.gpu_results.result import Result, survived
from tests.bench.gpu_results.table import BEGIN, END, page, put_in, readme_table

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "tests/bench/results/h200"


def test_the_readmes_table_is_that_of_the_results() -> None:
    document = join([RESULTS / "results.json"])
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert put_in(text, readme_table(document)) == text
    assert (RESULTS / "README.md").read_text(encoding="utf-8") == page(document)


def test_a_target_is_met_by_what_reaches_it_and_never_by_a_failure() -> None:
    assert Result("rate", 97.0, "%", 97.0, "least").met is True
    assert Result("rate", 96.9, "%", 97.0, "least").met is False
    assert Result("time", 8.0, "ms", 8.0).met is True
    assert Result("time", 8.1, "ms", 8.0).met is False
    assert Result("link", 55.0, "GB/s").met is None
    assert Result("link", None, "", failure="no driver").met is False


def test_rows_before_a_failing_one_are_kept() -> None:
    def rows() -> Iterator[Result]:
        yield Result("first", 1.0, "s")
        raise RuntimeError("the driver is gone")

    first, second = survived("the part", rows())
    assert first.value == 1.0
    assert second.failure == "RuntimeError: the driver is gone"


def test_a_part_of_a_later_file_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    files = []
    for number, parts in enumerate(({"a": 1, "b": 1}, {"b": 2})):
        files.append(tmp_path / f"{number}.json")
        files[-1].write_text(json.dumps({"parts": parts}), encoding="utf-8")
    assert join(files) == {"parts": {"a": 1, "b": 2}}


def test_a_row_is_read_as_it_was_written() -> None:
    row = Result("rate", 96.5, "%", 97.0, "least", "the median")
    assert Result.of(json.loads(json.dumps(row.document()))) == row


def test_a_text_without_a_place_for_the_table_is_refused() -> None:
    with pytest.raises(ValueError, match="has no"):
        put_in("# Title\n", "| table |")
    assert put_in(f"a\n{BEGIN}\nold\n{END}\nb\n", "new") == f"a\n{BEGIN}\nnew\n{END}\nb\n"
