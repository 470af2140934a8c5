"""Recordings of samples: compressed JSON lines, appended to, bounded in age.

A file is a row of gzip members of some minutes each, so that old ones go without reading the rest.
Each sample is flushed: what a killed recorder leaves can be read up to its last sample.
"""

import gzip
import os
import re
import shutil
import threading
import zlib
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import Final

from pegaflow.document import OtherForm, check_form
from pegaflow.errors import ConfigError, PegaflowError
from pegaflow.json_text import parse_json
from pegaflow.observe.owned_file import GZIP, MEMBER_MARK, own, refuse_others
from pegaflow.observe.sample import Sample
from pegaflow.observe.source import Source

_MEMBER_S: Final = 300.0
"""The longest time that one member is about."""

_MEMBERS: Final = 20
"""A retention has as many members at least, so that no more than that part is kept too long."""

_PIECE_BYTES: Final = 1 << 16

_STATUS_FORM: Final = re.compile(rb'\{"schema":"([\w./-]{1,64})"', re.ASCII)
"""What a status document begins with."""

_LAST_AT: Final = datetime.max.replace(tzinfo=UTC).timestamp()


@dataclass
class _Member:
    last_at: float
    offset: int


class Recorder:
    """Writes samples of any number of daemons to one file; its methods may be called by threads."""

    def __init__(self, file: Path, retention_s: float | None = None) -> None:
        """Appends to ``file``, which is new, empty or a recording.

        Raises ``ConfigError`` when it cannot, or another recorder does.
        """
        self.file = file
        self._retention_s = retention_s
        self._member_s = min(_MEMBER_S, (retention_s or _MEMBER_S * _MEMBERS) / _MEMBERS)
        self._lock = threading.Lock()
        try:
            if retention_s is not None and self._part().exists():
                refuse_others(self._part())
            self._raw = own(file)
        except FileExistsError as error:
            raise ConfigError(
                f"{error.strerror}, so that nothing is recorded into it; give a new file, or one "
                "that `pegaflow top --record FILE` wrote"
            ) from error
        except BlockingIOError as error:
            raise ConfigError(
                f"the recording {file} is being written by another recorder; give another file"
            ) from error
        except OSError as error:
            raise ConfigError(
                f"the recording {file} cannot be written: {error.strerror}"
            ) from error
        self._members = self._members_there()
        self._zip: gzip.GzipFile | None = None
        self._began_at = 0.0

    def add(self, sample: Sample) -> None:
        """Write a sample; raises ``PegaflowError`` when it cannot be written.

        What was written stays with a file that was moved away; a new one has the name then.
        """
        with self._lock:
            try:
                if not self._has_name():
                    self._begin_file()
                self._begin_member(sample.at)
                assert self._zip is not None
                self._zip.write(sample.line().encode() + b"\n")
                self._zip.flush()
                self._members[-1].last_at = sample.at
            except OSError as error:
                # What was begun may be torn.
                self._zip = None
                raise self._unwritable(error) from error

    def close(self) -> None:
        """End the file; raises ``PegaflowError`` when its end cannot be written."""
        with self._lock:
            try:
                with self._raw:
                    if self._zip is not None:
                        self._zip.close()
            except OSError as error:
                raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> PegaflowError:
        return PegaflowError(f"the recording {self.file} cannot be written: {error.strerror}")

    def _members_there(self) -> list[_Member]:
        there = os.fstat(self._raw.fileno())
        return [_Member(there.st_mtime, 0)] if there.st_size else []

    def _has_name(self) -> bool:
        with suppress(FileNotFoundError):
            return os.path.samestat(self.file.stat(), os.fstat(self._raw.fileno()))
        return False

    def _begin_file(self) -> None:
        raw = own(self.file)
        try:
            if self._zip is not None:
                self._zip.close()
        finally:
            self._raw.close()
            self._raw, self._zip = raw, None
            self._members = self._members_there()

    def _part(self) -> Path:
        """Where what is kept is written before it takes the file's place; links stay links."""
        file = self._linked()
        return file.with_name(file.name + ".part")

    def _linked(self) -> Path:
        return Path(os.path.realpath(self.file))

    def _begin_member(self, at: float) -> None:
        if self._zip is not None and at - self._began_at < self._member_s:
            return
        if self._zip is not None:
            self._zip.close()
        if self._retention_s is not None:
            self._drop_before(at - self._retention_s)
        self._members.append(_Member(at, self._raw.tell()))
        self._zip = gzip.GzipFile(fileobj=self._raw, mode="ab", mtime=0)
        self._began_at = at

    def _drop_before(self, at: float) -> None:
        kept = [member for member in self._members if member.last_at >= at]
        if len(kept) == len(self._members):
            return
        self._raw.flush()
        first = kept[0].offset if kept else self._raw.tell()
        part = self._part()
        new = own(part)
        new.truncate(0)
        with self.file.open("rb") as old:
            old.seek(first)
            shutil.copyfileobj(old, new)
        part.replace(self._linked())
        self._raw.close()
        self._raw = new
        self._members = [_Member(member.last_at, member.offset - first) for member in kept]


class RecordedSource:
    """A source whose samples are written to a recording as well."""

    def __init__(self, source: Source, recorder: Recorder) -> None:
        self.host = source.host
        self._source = source
        self._recorder = recorder

    def read(self) -> Sample:
        """The source's sample, once it is written."""
        sample = self._source.read()
        self._recorder.add(sample)
        return sample

    def close(self) -> None:
        """Let go of the source; the recording may have others."""
        self._source.close()


class Recording:
    """A recording as a whole, each sample compressed with the first one as its dictionary."""

    def __init__(self, file: Path) -> None:
        """Reads ``file``; raises ``ConfigError`` for one that is none."""
        self.times: list[float] = []
        """When each sample was taken, ascending per daemon."""
        self.hosts: list[str] = []
        """Whose sample each is."""
        self._lines: list[bytes] = []
        self._dictionary = b""
        try:
            for line in _lines_of(file):
                self._add(line)
        except OtherForm as error:
            raise ConfigError(
                f"{file} cannot be replayed ({error}); use the command line that recorded it"
            ) from error
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigError(
                f"{file} cannot be replayed ({error}); give a file that "
                "`pegaflow top --record FILE` wrote"
            ) from error
        if not self.times:
            raise ConfigError(f"{file} has no sample to replay")

    def __len__(self) -> int:
        return len(self.times)

    def sample(self, index: int) -> Sample:
        """One sample."""
        unpacker = zlib.decompressobj(zdict=self._dictionary)
        return Sample.of_line(unpacker.decompress(self._lines[index]).decode())

    def groups(self) -> Iterator[list[Sample]]:
        """The samples of one reading of all daemons, by their names, after the other."""
        group: dict[str, Sample] = {}
        for index, host in enumerate(self.hosts):
            if host in group:
                yield [group[name] for name in sorted(group)]
                group = {}
            group[host] = self.sample(index)
        yield [group[name] for name in sorted(group)]

    def _add(self, line: bytes) -> None:
        head, _, status = line.partition(b',"status":')
        named, form = parse_json(head + b"}"), _STATUS_FORM.match(status)
        check_form(named)
        check_form({"schema": form[1].decode()} if form else {})
        self._dictionary = self._dictionary or line[-(1 << 15) :]
        packer = zlib.compressobj(zdict=self._dictionary)
        at, host = float(named["at"]), str(named["host"])
        if not 0 <= at < _LAST_AT:
            raise ValueError(f"a sample is of the time {at!r}")
        if not host.isprintable():
            raise ValueError(f"a sample is of the host {host!r}")
        self.times.append(at)
        self.hosts.append(host)
        self._lines.append(packer.compress(line) + packer.flush())


def _lines_of(file: Path) -> Iterator[bytes]:
    """The whole lines of a recording.

    A recorder that was killed, or whose disk was full, leaves a member without its end, and the
    next one appends behind it: what comes there begins with the mark of a member.
    """
    data = file.read_bytes()
    if not data.startswith(MEMBER_MARK):
        raise ValueError("it is not compressed with gzip")
    start = 0
    while start >= 0:
        length = yield from _member_lines(memoryview(data)[start:])
        start = data.find(MEMBER_MARK, start + length)


def _member_lines(data: memoryview) -> Generator[bytes, None, int]:
    """The whole lines of the member that ``data`` begins with; its bytes, 1 for a torn one."""
    unpacker, rest = zlib.decompressobj(wbits=GZIP), b""
    for begin in range(0, len(data), _PIECE_BYTES):
        piece, before = data[begin : begin + _PIECE_BYTES], unpacker.copy()
        try:
            unpacked = unpacker.decompress(piece)
        except zlib.error:
            *lines, _ = (rest + _up_to_the_tear(before, piece)).split(b"\n")
            yield from takewhile(_is_json, lines)
            return 1
        *lines, rest = (rest + unpacked).split(b"\n")
        yield from lines
        if unpacker.eof:
            return begin + len(piece) - len(unpacker.unused_data)
    return 1


def _up_to_the_tear(unpacker: "zlib._Decompress", piece: memoryview) -> bytes:
    """What can be unpacked; its last bytes may be none that were written."""
    unpacked = b""
    with suppress(zlib.error):
        for at in range(len(piece)):
            unpacked += unpacker.decompress(piece[at : at + 1])
    return unpacked


def _is_json(line: bytes) -> bool:
    try:
        parse_json(line)
    except ValueError:
        return False
    return True
