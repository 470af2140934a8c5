"""Files that are there whole or not at all."""

import errno
import os
import stat
from pathlib import Path

import pytest

from pegaflow.errors import ConfigError
from pegaflow.whole_file import whole_file


def test_what_was_there_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"before")
    file.chmod(0o640)
    with whole_file(file, replace=True) as written:
        written.write(b"after")
        assert file.read_bytes() == b"before"
    assert file.read_bytes() == b"after"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("error", [ConfigError("no"), KeyboardInterrupt()])
def test_what_is_not_written_to_its_end_is_gone(
    tmp_path: Path, *, replace: bool, error: BaseException
) -> None:
    with (
        pytest.raises(type(error)),
        whole_file(tmp_path / "file", replace=replace) as written,
    ):
        written.write(b"some")
        raise error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_came_meanwhile_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, links: bool
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    if not links:
        monkeypatch.setattr(Path, "hardlink_to", refuse)
    file = tmp_path / "file"
    with pytest.raises(FileExistsError), whole_file(file, replace=False) as written:
        written.write(b"mine")
        file.write_bytes(b"another's")
    assert file.read_bytes() == b"another's"
    assert list(tmp_path.iterdir()) == [file]
    with whole_file(tmp_path / "other", replace=False) as written:
        written.write(b"mine")
    assert (tmp_path / "other").read_bytes() == b"mine"


def test_a_link_stays_one_and_a_device_too(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_bytes(b"before")
    link.symlink_to(file)
    with whole_file(link, replace=True) as written:
        written.write(b"after")
    assert link.is_symlink() and file.read_bytes() == b"after"
    link.unlink()
    link.symlink_to("/dev/null")
    with whole_file(link, replace=True) as written:
        written.write(b"after")
    assert Path("/dev/null").is_char_device()
