"""What is taken for a document of a daemon, and what is not."""

import json

import pytest

from pegaflow.document import parse
from pegaflow.errors import PegaflowError
from pegaflow.models import Status
from tests.cli.documents import status_document


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is no JSON"),
        ("[" * 100_000, "it is no JSON"),
        ("[]", "it is no JSON object"),
        (json.dumps({"schema": "pegaflow.status/1"}), "it lacks 'version'"),
        (json.dumps(status_document(schema="pegaflow.status/2")), "its form is pegaflow.status/2"),
        (json.dumps(status_document(pid="many")), "'many' where int is expected"),
        (json.dumps(status_document(uptime_s=float("nan"))), "nan where a number is expected"),
        (json.dumps(status_document(uptime_s=float("inf"))), "inf where a number is expected"),
    ],
)
def test_what_is_no_document_is_told_in_words(text: str, why: str) -> None:
    with pytest.raises(PegaflowError) as raised:
        parse(Status, text)
    said = str(raised.value)
    assert said.startswith(f"the daemon's status document cannot be read ({why}")
    assert "Error" not in said


def test_texts_of_others_move_no_cursor() -> None:
    engine = status_document()["engines"][0] | {"model": "a\x1b[2J\x9b", "engine_id": "b\nc"}
    status = parse(Status, json.dumps(status_document(engines=[engine])))
    assert (status.engines[0].model, status.engines[0].engine_id) == ("a\\x1b[2J\\x9b", "b\\nc")
