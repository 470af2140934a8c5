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


def test_every_file_with_unsafe_code_is_in_the_inventory() -> None:
    inventory = (ROOT / "native/docs/memory.md").read_text(encoding="utf-8")
    missing = {
        file for file in _files_with_unsafe() if f"`{file.rsplit('/', 1)[-1]}`" not in inventory
    }
    assert not missing, f"list these in native/docs/memory.md: {sorted(missing)}"


def test_the_inventory_names_no_file_without_unsafe_code() -> None:
    inventory = (ROOT / "native/docs/memory.md").read_text(encoding="utf-8")
    tables = "\n".join(line for line in inventory.splitlines() if line.startswith("| `"))
    named = set(re.findall(r"`([a-z_]+\.rs)`", tables))
    there = {file.rsplit("/", 1)[-1] for file in _files_with_unsafe()}
    assert named <= there, f"these have none any more: {sorted(named - there)}"
