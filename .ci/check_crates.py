"""Checks the native crates' dependencies against native/deny.toml: licences, bans and sources.

Reads what ``cargo metadata`` says, so it needs nothing but cargo; cargo-deny, which takes minutes
to build, reads the same file.
"""

import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

NATIVE: Final = Path(__file__).parents[1] / "native"
_TOKEN: Final = re.compile(r"\(|\)|[^\s()]+")


def main() -> int:
    """Print a sentence for each fault; the exit code says whether there was one."""
    policy = tomllib.loads((NATIVE / "deny.toml").read_text(encoding="utf-8"))
    metadata = subprocess.run(
        ["cargo", "metadata", "--locked", "--format-version", "1"],
        cwd=NATIVE,
        stdout=subprocess.PIPE,
        check=True,
    )
    found = list(faults(json.loads(metadata.stdout)["packages"], policy))
    for sentence in found:
        print(sentence, file=sys.stderr)
    return 1 if found else 0


def faults(packages: list[dict[str, Any]], policy: dict[str, Any]) -> Iterator[str]:
    """A sentence for each crate in cargo's ``packages`` that ``policy`` does not allow."""
    licences = set(policy["licenses"]["allow"])
    banned = {entry["crate"]: entry["reason"] for entry in policy["bans"]["deny"]}
    several = {entry["crate"] for entry in policy["bans"]["skip"]}
    for package in packages:
        crate = f"{package['name']} {package['version']}"
        if not is_allowed(package["license"] or "", licences):
            yield f"{crate} has the licence {package['license']!r}, which native/deny.toml lacks"
        if package["name"] in banned:
            yield f"{crate} is banned: {banned[package['name']]}"
        source = package["source"]
        if source is not None and not re.fullmatch(r"registry\+.*/crates\.io-index", source):
            yield f"{crate} comes from {source}; only crates.io is allowed"
    versions = Counter(package["name"] for package in packages)
    for name, count in versions.items():
        if count > 1 and name not in several:
            yield f"{name} is there in {count} versions; bring them together, or say why in skip"
        if count == 1 and name in several:
            yield f"{name} is there once now; remove it from skip in native/deny.toml"


def is_allowed(expression: str, licences: set[str]) -> bool:
    """Whether an SPDX ``expression`` can be met with ``licences``; AND binds before OR."""
    tokens = _TOKEN.findall(expression.replace("/", " OR ").replace(" WITH ", "\0"))
    position = 0

    def either() -> bool:
        nonlocal position
        met = both()
        while position < len(tokens) and tokens[position] == "OR":
            position += 1
            met = both() or met
        return met

    def both() -> bool:
        nonlocal position
        met = one()
        while position < len(tokens) and tokens[position] == "AND":
            position += 1
            met = one() and met
        return met

    def one() -> bool:
        nonlocal position
        token = tokens[position] if position < len(tokens) else ""
        position += 1
        if token != "(":
            return token.replace("\0", " WITH ") in licences
        met = either()
        position += 1
        return met

    return either()


if __name__ == "__main__":
    sys.exit(main())
