"""Text in files and pipes is UTF-8, whatever the locale of a machine says.

Ruff's unspecified-encoding sees only paths whose type it infers, and no subprocess.
"""

import ast

import pytest

from tests.packaging.checkout import ROOT, git_files

_SUBPROCESS = {"text", "universal_newlines"}
_OPENS_NO_TEXT = {"Image", "os", "tarfile"}


def _open_is_text(call: ast.Call, opener: ast.Attribute) -> bool:
    if isinstance(opener.value, ast.Name) and opener.value.id in _OPENS_NO_TEXT:
        return False
    named = [keyword.value for keyword in call.keywords if keyword.arg == "mode"]
    mode = [*call.args, *named, ast.Constant("r")][0]
    return isinstance(mode, ast.Constant) and "b" not in str(mode.value)


def _leaves_it_to_the_locale(call: ast.Call) -> bool:
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    if any(isinstance(given.get(name), ast.Constant) for name in _SUBPROCESS):
        return True
    if "encoding" in given or not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr == "open":
        return _open_is_text(call, call.func)
    return call.func.attr in {"read_text", "write_text"}


def _calls(source: str) -> list[ast.Call]:
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]


def test_every_text_file_and_pipe_names_its_encoding() -> None:
    sources = sorted(path for path in git_files() if path.endswith(".py"))
    assert {"cli/detach.py", "tests/planning/traces.py", ".ci/requirements.py"} <= set(sources)
    found = [
        f"{path}:{call.lineno}"
        for path in sources
        for call in _calls((ROOT / path).read_text(encoding="utf-8"))
        if _leaves_it_to_the_locale(call)
    ]
    assert not found


@pytest.mark.parametrize(
    ("call", "leaves"),
    [
        ("path.read_text()", True),
        ("path.write_text(text)", True),
        ("path.read_text(encoding='utf-8')", False),
        ("path.open()", True),
        ("path.open('w')", True),
        ("path.open(mode='a')", True),
        ("path.open('rb')", False),
        ("path.open('w', encoding='utf-8')", False),
        ("os.open(path, flags)", False),
        ("subprocess.run(command, text=True)", True),
        ("subprocess.run(command, encoding='utf-8')", False),
    ],
)
def test_what_leaves_its_encoding_to_the_locale_is_told_apart(call: str, leaves: bool) -> None:
    assert [_leaves_it_to_the_locale(found) for found in _calls(call)] == [leaves]
