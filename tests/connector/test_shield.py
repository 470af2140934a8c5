"""Errors of the cache stay away from vLLM and are seen in the log."""

import pytest

from pegaflow.connector import shield


def test_a_shielded_call_answers_instead_of_raising(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shield, "_seen", type(shield._seen)())

    @shield.shielded(lambda: "fallback")
    def call(fails: bool) -> str:
        if fails:
            raise ValueError("broken")
        return "answer"

    assert call(fails=False) == "answer"
    assert [call(fails=True) for _ in range(9)] == ["fallback"] * 9
    assert [record.args[1] for record in caplog.records] == [1, 2, 4, 8]  # type: ignore[index]
    assert all(record.exc_info for record in caplog.records)
