"""Recordings give back what was recorded, whatever became of the recorder."""

import gzip
import json
import os
import resource
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from pegaflow.errors import ConfigError, PegaflowError
from pegaflow.event_models import LoggedEvent
from pegaflow.observe.reading import snapshot
from pegaflow.observe.recording import RecordedSource, Recorder, Recording
from pegaflow.observe.sample import Sample
from pegaflow.observe.scripted import ScriptedSource
from tests.observe.clock import Clock

_BEGAN = 1_700_000_000.0
_EVENT = LoggedEvent(1, _BEGAN, "engine-attached", "ok", "engine-0", "engine-0 attached")


def _samples(count: int, hosts: int = 1, step_s: float = 1.0) -> list[Sample]:
    clock = Clock(_BEGAN)
    sources = [ScriptedSource(f"gpu-{number}", clock, _BEGAN) for number in range(hosts)]
    found = []
    for index in range(count):
        clock.at = _BEGAN + step_s * index
        found += [source.read() for source in sources]
    return found


def _record(file: Path, samples: list[Sample], retention_s: float | None = None) -> None:
    recorder = Recorder(file, retention_s)
    for sample in samples:
        recorder.add(sample)
    recorder.close()


def test_every_sample_comes_back_as_it_was(tmp_path: Path) -> None:
    samples = _samples(20, hosts=2)
    _record(tmp_path / "r", samples)
    recording = Recording(tmp_path / "r")
    assert len(recording) == 40
    for index, sample in enumerate(samples):
        again = recording.sample(index)
        assert snapshot(again) == snapshot(sample)
        assert recording.times[index] == again.at == sample.at


_FORMS = (b'"pegaflow.recording/1"', b'"pegaflow.status/1"')


@pytest.mark.parametrize("form", _FORMS)
@pytest.mark.parametrize("first", [True, False])
def test_a_recording_of_another_major_version_is_refused_by_its_name(
    tmp_path: Path, form: bytes, first: bool
) -> None:
    lines = [one.line().encode() for one in _samples(3)]
    index = 0 if first else 2
    assert form in lines[index]
    lines[index] = lines[index].replace(form, form.replace(b"/1", b"/2"))
    (tmp_path / "r").write_bytes(gzip.compress(b"\n".join(lines) + b"\n"))
    with pytest.raises(ConfigError) as refused:
        Recording(tmp_path / "r")
    name = form.strip(b'"').decode().replace("/1", "/2")
    assert f"its form is {name}, and this one knows 1" in str(refused.value)
    assert "use the command line that recorded it" in str(refused.value)


def test_lines_without_a_form_are_of_the_first_and_what_newer_events_have_more_is_ignored() -> None:
    raw = json.loads(replace(_samples(1)[0], events=(_EVENT,)).line())
    del raw["schema"]
    raw["events"][0]["newer"] = 1
    assert Sample.of_line(json.dumps(raw)).events == (_EVENT,)


def test_events_of_another_shape_are_not_misread() -> None:
    raw = json.loads(replace(_samples(1)[0], events=(_EVENT,)).line())
    raw["events"][0]["at"] = "yesterday"
    with pytest.raises(PegaflowError, match="no sample"):
        Sample.of_line(json.dumps(raw))


def test_samples_of_one_reading_come_together(tmp_path: Path) -> None:
    # Daemons answer in any order.
    samples = _samples(3, hosts=2)
    _record(tmp_path / "r", [*samples[:2], *samples[3:1:-1], *samples[4:]])
    groups = list(Recording(tmp_path / "r").groups())
    assert [[one.host for one in group] for group in groups] == [["gpu-0", "gpu-1"]] * 3


def test_a_second_recorder_goes_on_where_the_first_ended(tmp_path: Path) -> None:
    samples = _samples(10)
    _record(tmp_path / "r", samples[:4])
    _record(tmp_path / "r", samples[4:])
    assert Recording(tmp_path / "r").times == [sample.at for sample in samples]


def test_a_killed_recorder_leaves_all_samples_that_it_was_given(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "r")
    for sample in _samples(5):
        recorder.add(sample)
    # Nothing was closed: this is what a kill leaves.
    (tmp_path / "left").write_bytes((tmp_path / "r").read_bytes())
    recorder.close()
    assert len(Recording(tmp_path / "left")) == 5


def test_a_torn_end_costs_the_last_sample_alone(tmp_path: Path) -> None:
    file = tmp_path / "r"
    recorder = Recorder(file)
    sizes = []
    for sample in _samples(5):
        recorder.add(sample)
        sizes.append(file.stat().st_size)
    recorder.close()
    for cut in range(sizes[3] + 1, sizes[4]):
        (tmp_path / "torn").write_bytes(file.read_bytes()[:cut])
        assert len(Recording(tmp_path / "torn")) in (4, 5)


def test_what_comes_behind_a_torn_end_is_kept(tmp_path: Path) -> None:
    file, samples = tmp_path / "r", _samples(12)
    recorder = Recorder(file)
    sizes = []
    for sample in samples[:6]:
        recorder.add(sample)
        sizes.append(file.stat().st_size)
    whole = file.read_bytes()
    recorder.close()
    for cut in [sizes[5], *range(sizes[4] + 1, sizes[5], 7)]:
        file.write_bytes(whole[:cut])
        _record(file, samples[6:])
        found = Recording(file)
        left = samples[: 6 if cut == sizes[5] else 5] + samples[6:]
        assert found.times in ([one.at for one in left], [one.at for one in samples])
        assert [found.sample(at).status_json for at in range(len(found))]


def test_what_is_older_than_the_retention_goes(tmp_path: Path) -> None:
    samples = _samples(2000, step_s=1.0)
    _record(tmp_path / "r", samples, retention_s=200.0)
    times = Recording(tmp_path / "r").times
    newest = samples[-1].at
    assert times == [sample.at for sample in samples if sample.at >= times[0]]
    # A member, a twentieth of the retention, goes as a whole.
    assert 200 <= newest - times[0] <= 200 + 2 * 10
    assert [file.name for file in tmp_path.iterdir()] == ["r"]


def test_what_an_earlier_recorder_left_goes_with_its_age(tmp_path: Path) -> None:
    file = tmp_path / "r"
    old, new = _samples(10)[:5], _samples(400)[-300:]
    _record(file, old)
    os.utime(file, (_BEGAN, _BEGAN))
    _record(file, new, retention_s=50.0)
    assert Recording(file).times[0] > _BEGAN + 300


def test_samples_take_little_room(tmp_path: Path) -> None:
    samples = _samples(300)
    _record(tmp_path / "r", samples)
    assert (tmp_path / "r").stat().st_size < 300 * 2500


def test_a_recorded_source_gives_what_it_writes(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "r")
    source = RecordedSource(ScriptedSource("gpu-1", Clock(_BEGAN), _BEGAN), recorder)
    given = source.read()
    source.close()
    recorder.close()
    assert source.host == "gpu-1"
    assert Recording(tmp_path / "r").sample(0).status == given.status


@pytest.mark.parametrize("content", [b"", b"no gzip at all", gzip.compress(b"{}\n")])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "r").write_bytes(content)
    with pytest.raises(ConfigError, match="replay"):
        Recording(tmp_path / "r")


def test_a_file_has_one_recorder_at_a_time(tmp_path: Path) -> None:
    samples = _samples(400)
    first = Recorder(tmp_path / "r", retention_s=50.0)
    for sample in samples:
        # It also holds the file that takes the place of the one with what is too old.
        first.add(sample)
        if sample is samples[0] or sample is samples[-1]:
            with pytest.raises(ConfigError, match="another recorder; give another file"):
                Recorder(tmp_path / "r")
    first.close()
    _record(tmp_path / "r", samples[:1])


def test_a_full_disk_is_told_and_costs_what_did_not_fit(tmp_path: Path) -> None:
    recorder, samples = Recorder(tmp_path / "r"), _samples(4)
    recorder.add(samples[0])
    size = (tmp_path / "r").stat().st_size
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    full = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        # Files end there with an error, as on a full disk.
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, limits[1]))
        for _ in range(2):
            with pytest.raises(PegaflowError, match="r cannot be written: File too large"):
                recorder.add(samples[1])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, full)
    for sample in samples[2:]:
        recorder.add(sample)
    recorder.close()
    found = Recording(tmp_path / "r")
    assert {samples[0].at, samples[3].at} <= set(found.times)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"at":', b'"at":-'),
        (b'"at":', b'"at":9e999'),
        (b'"at":', b'"at":null,"was":'),
        (b'"host":"gpu-0"', b'"host":"\\u001b[2J"'),
    ],
)
def test_a_sample_of_no_time_or_host_is_refused(tmp_path: Path, old: bytes, new: bytes) -> None:
    line = _samples(1)[0].line().encode()
    assert old in line
    (tmp_path / "r").write_bytes(gzip.compress(line.replace(old, new, 1) + b"\n"))
    with pytest.raises(ConfigError, match="cannot be replayed"):
        Recording(tmp_path / "r")


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"1e999", b"[" * 100_000])
def test_a_sample_with_what_is_no_number_is_refused(tmp_path: Path, number: bytes) -> None:
    line = _samples(1)[0].line().encode()
    changed = line.replace(b'"uptime_s":', b'"uptime_s":' + number + b',"was":', 1)
    assert changed != line
    (tmp_path / "r").write_bytes(gzip.compress(changed + b"\n"))
    with pytest.raises(PegaflowError, match=r"no sample|document cannot be read"):
        _ = Recording(tmp_path / "r").sample(0).status


def test_a_recorder_that_was_killed_at_any_byte_is_followed_by_another(tmp_path: Path) -> None:
    file, samples = tmp_path / "r", _samples(3)
    recorder = Recorder(file)
    recorder.add(samples[0])
    whole = file.read_bytes()
    recorder.close()
    for cut in [*range(10, 250), *range(250, len(whole), 50)]:
        file.write_bytes(whole[:cut])
        _record(file, samples[1:2])
        _record(file, samples[2:])
        assert samples[2].at in Recording(file).times


_LINE = _samples(1)[0].line().encode()
_OTHERS = [
    b'{"timestamp":0,"hash_ids":[1]}\n',
    _LINE,
    b"\x1f\x8b",
    gzip.compress(b""),
    gzip.compress(b"{}\n"),
    gzip.compress(b"{}\n")[:15],
    gzip.compress(_LINE.replace(b"recording/1", b"recording/2")),
    gzip.compress(b"{}\n") + gzip.compress(_LINE, mtime=0),
    os.urandom(1 << 17),
    b"\x1f\x8b\x08" + os.urandom(1 << 17),
]


@pytest.mark.parametrize("content", _OTHERS, ids=range(len(_OTHERS)))
@pytest.mark.parametrize("name", ["r", "r.part"])
def test_what_is_no_recording_stays_as_it_is(tmp_path: Path, content: bytes, name: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigError, match=f"{name} is there and is no recording"):
        Recorder(tmp_path / "r", retention_s=60.0)
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [(name, content)]


def test_a_recording_that_was_packed_anew_is_one(tmp_path: Path) -> None:
    samples = _samples(4)
    _record(tmp_path / "r", samples[:2])
    (tmp_path / "r").write_bytes(gzip.compress(gzip.decompress((tmp_path / "r").read_bytes())))
    _record(tmp_path / "r", samples[2:])
    assert len(Recording(tmp_path / "r")) == 4


def test_a_link_stays_one_when_what_is_too_old_goes(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "r").symlink_to("far/recording")
    _record(tmp_path / "r", _samples(400), retention_s=50.0)
    assert (tmp_path / "r").is_symlink()
    assert [file.name for file in (tmp_path / "far").iterdir()] == ["recording"]
    assert Recording(tmp_path / "far" / "recording").times[0] > _BEGAN + 300


def test_a_file_that_is_moved_away_keeps_what_it_has_and_another_has_the_rest(
    tmp_path: Path,
) -> None:
    file, samples = tmp_path / "r", _samples(9)
    recorder = Recorder(file)
    for part in range(3):
        for sample in samples[3 * part : 3 * part + 3]:
            recorder.add(sample)
        if part < 2:
            file.rename(tmp_path / f"r.{part}")
    recorder.close()
    found = [Recording(tmp_path / name).times for name in ("r.0", "r.1", "r")]
    assert [at for times in found for at in times] == [sample.at for sample in samples]
    assert [len(times) for times in found] == [3, 3, 3]


def test_a_file_that_is_deleted_is_made_anew_once_it_can_be(tmp_path: Path) -> None:
    folder, samples = tmp_path / "recordings", _samples(4)
    folder.mkdir()
    recorder = Recorder(folder / "r", retention_s=100.0)
    recorder.add(samples[0])
    (folder / "r").unlink()
    folder.rmdir()
    for sample in samples[:2]:
        with pytest.raises(PegaflowError, match="cannot be written: No such file or directory"):
            recorder.add(sample)
    folder.mkdir()
    for sample in samples[2:]:
        recorder.add(sample)
    recorder.close()
    assert Recording(folder / "r").times == [sample.at for sample in samples[2:]]


def test_a_place_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written: No such file or directory"):
        Recorder(tmp_path / "none" / "r")
