"""Looking at daemons, or at a recording of them, in the form that is wanted."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pegaflow.cli.context import AppContext
from pegaflow.cli.output import columns
from pegaflow.cli.top.live import Taste, can_be_live, replay, show
from pegaflow.cli.top.readings import Reading, readings
from pegaflow.cli.top.writers import check, write
from pegaflow.observe.history import History
from pegaflow.observe.operator import Operator
from pegaflow.observe.recording import RecordedSource, Recorder, Recording
from pegaflow.observe.source import HttpSource, Source
from pegaflow.observe.stat_lines import StatLines


@dataclass(frozen=True)
class Look:
    """What the user wants to see."""

    form: str | None
    """``json``, ``csv``, ``stat`` or ``headless``; None: live where there is a terminal."""
    once: bool
    count: int | None
    interval_s: float
    taste: Taste
    token_file: Path | None
    """The secret that lets the user change daemons; None: nothing is changed."""

    @property
    def may_be_live(self) -> bool:
        """Whether nothing asks for lines."""
        return self.form is None and not self.once and self.count is None


def look(
    context: AppContext,
    sources: Sequence[Source],
    wanted: Look,
    record: Path | None,
    retention_s: float | None,
) -> None:
    """Look at daemons, and write each sample to the file ``record`` if there is one."""
    recorder = None if record is None else Recorder(record, retention_s)
    found = sources
    if recorder is not None:
        found = [RecordedSource(source, recorder) for source in sources]
    try:
        if wanted.may_be_live and can_be_live(context):
            show(context, found, wanted.interval_s, wanted.taste, _operators(sources, wanted))
        else:
            count = 1 if wanted.once else wanted.count
            read = readings(found, wanted.taste.thresholds, wanted.interval_s, count)
            _write(context, wanted, [source.host for source in sources], read)
    finally:
        for source in sources:
            source.close()
        if recorder is not None:
            recorder.close()


def look_back(context: AppContext, file: Path, wanted: Look) -> None:
    """Look at a recording: at all of it, or with ``once`` at its end."""
    recording = Recording(file)
    if wanted.may_be_live and can_be_live(context):
        replay(context, recording, wanted.taste)
        return
    found = _recorded(recording, wanted)
    if wanted.once:
        *_, last = found
        found = iter([last])
    _write(context, wanted, recording.hosts, found)


def _operators(sources: Sequence[Source], wanted: Look) -> dict[str, Operator]:
    if wanted.token_file is None:
        return {}
    found = [source for source in sources if isinstance(source, HttpSource)]
    return {source.host: Operator(source.find, wanted.token_file) for source in found}


def _recorded(recording: Recording, wanted: Look) -> Iterator[Reading]:
    histories: dict[str, History] = {}
    for number, samples in enumerate(recording.groups()):
        if number == wanted.count:
            return
        snapshots = [
            histories.setdefault(sample.host, History(wanted.taste.thresholds)).add(sample)
            for sample in samples
        ]
        yield Reading(max(sample.at for sample in samples), tuple(snapshots), {})


def _write(
    context: AppContext, wanted: Look, hosts: Iterable[str], found: Iterable[Reading]
) -> None:
    before, stat = None, StatLines(hosts, columns(context))
    for reading in found:
        write(context, wanted.form or "stat", reading, before, stat)
        before = reading
    if before is not None and (wanted.once or wanted.count is not None):
        check(before, is_told=wanted.form == "headless")
