"""The inventory of unsafe code in native/docs/memory.md."""

import re

from tests.packaging.checkout import ROOT

_UNSAFE = re.compile(r"\bunsafe\b(?!_)")
_COMMENT = re.compile(r"//.*")


def _files_with_unsafe() -> set[str]:
    """Sources that ship; tests may do to a process what they have to."""
    sources = [
        path
        for part in ("core", "client", "daemon", "proto", "python")
        for path in (ROOT / "native" / part / "src").rglob("*.rs")
        if "tests" not in path.parts and path.name != "tests.rs"
    ]
    return {
        str(path.relative_to(ROOT / "native"))
        for path in sources
        if _UNSAFE.search(_COMMENT.sub("", path.read_text(encoding="utf-8")))
    }


def _inventory() -> set[str]:
    """The ends of paths that the inventory's tables name, those of tests left out."""
    document = (ROOT / "native/docs/memory.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in document.splitlines() if line.startswith("| `")]
    return {
        f"/{name}"
        for row in rows
        if "(tests)" not in row
        for name in re.findall(r"`([a-z_/]+\.rs)`", row)
    }


def test_every_file_with_unsafe_code_is_in_the_inventory() -> None:
    listed = tuple(_inventory())
    missing = {file for file in _files_with_unsafe() if not file.endswith(listed)}
    assert not missing, f"list these in native/docs/memory.md: {sorted(missing)}"


def test_the_inventory_names_no_file_without_unsafe_code() -> None:
    there = _files_with_unsafe()
    gone = {name for name in _inventory() if not any(file.endswith(name) for file in there)}
    assert not gone, f"these have none any more: {sorted(gone)}"
