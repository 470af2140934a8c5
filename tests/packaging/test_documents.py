"""What the documents point at is there."""

import re
from typing import Final

from tests.packaging.checkout import ROOT, git_files

_PATH: Final = re.compile(r"`([\w.]+(?:/[\w.]+)*(?:/|\.(?:rs|py|md|toml|proto)))`")
"""A folder or file, by its path from any folder on: ``store/tests/`` or ``grant/tests.rs``."""

_MADE: Final = re.compile(r"\.venv.*/|bench\.json")


def test_each_file_and_folder_that_a_document_names_is_there() -> None:
    files = [f"/{path}" for path in git_files()]
    documents = sorted(path for path in git_files() if path.endswith(".md"))
    named = [
        (document, path)
        for document in documents
        for path in _PATH.findall((ROOT / document).read_text(encoding="utf-8"))
        if not _MADE.fullmatch(path)
    ]
    assert len(named) > 50
    missing = [
        (document, path)
        for document, path in named
        if not any(f"/{path}" in f"{file}/" for file in files)
    ]
    assert missing == []


def test_each_link_of_a_document_leads_to_a_file_or_folder() -> None:
    for document in sorted(path for path in git_files() if path.endswith(".md")):
        for link in re.findall(r"\]\(([^)#]+)\)", (ROOT / document).read_text(encoding="utf-8")):
            if "://" not in link:
                assert (ROOT / document).parent.joinpath(link).exists(), (document, link)
