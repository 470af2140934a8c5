"""tests/FAULTS.md has every fault once, and what it names is in the checkout."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Final

import pytest

from tests.packaging.checkout import ROOT

_COLUMNS: Final = ("id", "fault", "guard", "test", "seen to fail")
_LISTS: Final = {
    "F": "1-9 11-14 16-18 20-27 29 31-32 34-39 42-45 47 49-50 52-56 58-64",
    "P": "1-13 15-25 27-29 31-38 40-41 43-44 46-57 59-73",
    "I": "1-22",
    "V": "1-22",
}
_LATER: Final = re.compile(r"issue [3567] \([^)]+\)|remote tier")
_NAMED: Final = re.compile(r"`([^`]+)::([^`]+)`")


def _expected() -> list[str]:
    ids = []
    for letter, numbers in _LISTS.items():
        for part in numbers.split():
            first, _, last = part.partition("-")
            ids += [f"{letter}{number}" for number in range(int(first), int(last or first) + 1)]
    return ids


def _rows() -> Iterator[dict[str, str]]:
    for line in (ROOT / "tests/FAULTS.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if re.match(r"\| [A-Z]\d+ ", line):
            assert len(cells) == len(_COLUMNS), line
            yield dict(zip(_COLUMNS, cells, strict=True))


ROWS: Final = list(_rows())
NOW: Final = [row for row in ROWS if not _LATER.fullmatch(row["guard"])]


@cache
def _source(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_every_fault_is_there_once() -> None:
    assert Counter(row["id"] for row in ROWS) == Counter(_expected())


def test_no_cell_is_empty() -> None:
    assert [row["id"] for row in ROWS if not all(row.values())] == []


def test_a_row_of_a_later_part_names_it_throughout() -> None:
    later = [row for row in ROWS if row not in NOW]
    assert later
    for row in later:
        assert row["guard"] == row["test"] == row["seen to fail"], row["id"]


@pytest.mark.parametrize("column", ["guard", "test"])
@pytest.mark.parametrize("row", NOW, ids=lambda row: row["id"])
def test_what_a_row_names_is_there(row: dict[str, str], column: str) -> None:
    named = _NAMED.findall(row[column])
    assert named, f"no `file::name` in {row[column]!r}"
    assert _NAMED.sub("", row[column]).strip() == ""
    for path, name in named:
        assert (ROOT / path).is_file(), f"{path} is no file"
        assert re.search(rf"\b{re.escape(name)}\b", _source(path)), f"{path} has no {name}"


def test_tests_are_tests() -> None:
    for row in NOW:
        for path, name in _NAMED.findall(row["test"]):
            if path.endswith(".py"):
                assert f"def {name}(" in _source(path), f"{path} has no test {name}"
            elif path.endswith(".rs"):
                assert re.search(rf"\bfn {name}\b", _source(path)), f"{path} has no test {name}"
