"""A reader of a daemon's log: each event once, and what is missing told."""

import json
from dataclasses import asdict
from typing import Any

import jsonschema
import pytest

from pegaflow.event_models import LoggedEvent
from pegaflow.observe.event_reader import EventReader
from tests.cli.documents import schema

A, B = "a" * 16, "b" * 16


class LogOfDaemon:
    """Answers as ``GET /v1/events`` does."""

    def __init__(self, boot_id: str = A, *, first: int = 1, last: int = 0, page: int = 3) -> None:
        self.boot_id, self.first, self.last, self.page = boot_id, first, last, page
        self.asked: list[tuple[int, float]] = []

    def get(self, after: int, wait_s: float) -> str:
        self.asked.append((after, wait_s))
        begin = max(after + 1, self.first)
        numbers = range(begin, min(self.last + 1, begin + self.page))
        events = [
            asdict(LoggedEvent(number, 1.7e9 + number, "engine", "ok", "e", f"event {number}"))
            for number in numbers
        ]
        document: dict[str, Any] = {
            "schema": "pegaflow.events/1",
            "boot_id": self.boot_id,
            "lost": max(self.first - after - 1, 0),
            "last": numbers[-1] if events else after,
            "events": events,
        }
        jsonschema.validate(document, schema("events"))
        return json.dumps(document)


def _all(reader: EventReader) -> list[tuple[int | None, str]]:
    told = list[tuple[int | None, str]]()
    while found := reader.read():
        told.extend((one.sequence, one.text) for one in found)
    return told


def test_each_event_is_read_once_in_pages() -> None:
    log = LogOfDaemon(last=7)
    reader = EventReader(log.get)
    assert [number for number, _ in _all(reader)] == list(range(1, 8))
    log.last = 9
    assert [number for number, _ in _all(reader)] == [8, 9]


def test_a_reader_that_is_too_slow_is_told_how_many_it_missed() -> None:
    log = LogOfDaemon(last=3)
    reader = EventReader(log.get)
    _all(reader)
    log.first, log.last = 10, 12
    assert _all(reader) == [
        (None, "6 events not kept any more"),
        *((number, f"event {number}") for number in (10, 11, 12)),
    ]


def test_another_start_of_the_daemon_is_told_and_read_from_its_first_event() -> None:
    log = LogOfDaemon(last=5)
    reader = EventReader(log.get)
    _all(reader)
    log.boot_id, log.last = B, 2
    told = _all(reader)
    assert told[0] == (None, f"another start of the daemon answers, {B}; its events follow")
    assert [number for number, _ in told[1:]] == [1, 2]


@pytest.mark.parametrize(
    ("boot_id", "last", "has"), [(A, 5, True), (A, 4, True), (A, 6, False), (B, 1, False)]
)
def test_a_reader_knows_whether_there_is_more(boot_id: str, last: int, has: bool) -> None:
    reader = EventReader(LogOfDaemon(last=5).get)
    _all(reader)
    assert reader.has(boot_id, last) is has


def test_the_wait_is_the_daemon_s() -> None:
    log = LogOfDaemon()
    EventReader(log.get).read(7.5)
    assert log.asked == [(0, 7.5)]
