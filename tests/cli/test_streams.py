"""Streams and places that a process was not given."""

import pytest

from tests.cli.installed import Host
from tests.planning.traces import conversations, write_lines


def _run(host: Host, redirection: str, *args: str) -> tuple[int, str, str]:
    done = host.run(*args, around=("sh", "-c", f'exec "$@" {redirection}', "sh"))
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("args", [("version",), ("version", "--json"), ("config", "show")])
def test_results_that_cannot_be_written_are_an_error_of_one_line(
    host: Host, args: tuple[str, ...]
) -> None:
    code, _, errors = _run(host, ">/dev/full", *args)
    assert code == 1
    assert errors.startswith("pegaflow: standard output cannot be written: No space left")
    assert errors.count("\n") == 1


@pytest.mark.parametrize("args", [(), ("--help",), ("tier", "--help"), ("--show-completion",)])
def test_help_that_cannot_be_written_is_an_error_of_one_line(
    host: Host, args: tuple[str, ...]
) -> None:
    code, _, errors = _run(host, ">/dev/full", *args)
    said = "pegaflow: standard output cannot be written: No space left on device\n"
    assert (code, errors) == (1, said)


@pytest.mark.parametrize("args", [("version",), ("--help",), ("--show-completion",)])
@pytest.mark.parametrize("redirection", [">&-", "2>&-", ">&- 2>&-", "<&-"])
def test_a_stream_that_is_closed_is_not_missed(
    host: Host, redirection: str, args: tuple[str, ...]
) -> None:
    code, _, errors = _run(host, redirection, *args)
    assert (code, errors) == (0, "")


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full"])
def test_a_message_without_a_stream_for_it_is_no_result(host: Host, redirection: str) -> None:
    assert _run(host, redirection, "status") == (3, "", "")
    assert _run(host, redirection, "no-such-command") == (2, "", "")


def test_a_message_that_cannot_be_written_ends_nothing(host: Host) -> None:
    trace = host.directory / "trace.jsonl"
    write_lines(trace, conversations(1, 20))
    with trace.open("a", encoding="utf-8") as file:
        file.write("broken\n")
    args = ("trace", "info", str(trace), "--skip-bad")
    told = _run(host, "", *args)
    assert "skipped trace.jsonl, line 21" in told[2]
    assert _run(host, "2>/dev/full", *args) == (0, told[1], "")


@pytest.mark.parametrize("variable", ["HOME", "XDG_CONFIG_HOME"])
def test_a_configuration_that_cannot_be_looked_for_is_an_error_of_one_line(
    host: Host, variable: str
) -> None:
    place = "/" + "x" * 5000
    environ = {"XDG_CONFIG_HOME": "", variable: place}
    done = host.run("config", "show", environ=environ)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("pegaflow: the configuration file /xxx")
    assert done.stderr.count("\n") == 1
