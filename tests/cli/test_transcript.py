"""What commands that end in a sentence write, and every exit code, as one transcript."""

import json
from typing import Any, Final

import pytest

from pegaflow.cli.exit_codes import ExitCode
from pegaflow.errors import CallTimeout, ConfigError, PegaflowError, Refused, Unreachable
from pegaflow.models import Stopped
from tests.cli.command_line import CommandLine, StandInDaemon
from tests.cli.documents import operated, ssd_path, status_document
from tests.cli.golden import keeps

MIB: Final = 1 << 20
NAME: Final = "ab" * 32

EVICTED: Final = {"blocks": 1, "bytes": MIB, "kept_blocks": 2, "kept_bytes": 2 * MIB}
NONE_KEPT: Final = {"blocks": 5, "bytes": 5 * MIB, "kept_blocks": 0, "kept_bytes": 0}
ON_SSD: Final = {"ssd_blocks": 1, "ssd_bytes": MIB}
RESIZED: Final = {"dry_run": False, "before_bytes": 1 << 30, "size_bytes": 1 << 31}
ADDED: Final = {"path": "/mnt/b", "blocks": 1, "bytes": MIB, "evicted_blocks": 1}
WARMED: Final = {
    **{"dry_run": False, "planned_blocks": 1, "planned_bytes": MIB, "limited": False},
    **{"blocks": 1, "bytes": MIB, "present_blocks": 1, "passed_blocks": 0},
    **{"no_room_blocks": 0, "failed_blocks": 0},
}
VERIFIED: Final = {"tier": "memory", "verified": 1, "bytes": MIB, "pending": 0, "paths": []}
RECORDING: Final = {
    **{"directory": "/mnt/lookups", "lookups": 0, "left_out": 0, "bytes": 0},
    **{"size_bytes": 1 << 30, "error": None, "shortage": None},
}

COMMANDS: Final[list[tuple[str, Any]]] = [
    ("engine evict engine-a --yes", {"engine": "engine-a", "sessions": 1, "leases": 1}),
    ("namespace evict abab --yes", {"namespace": NAME, **EVICTED, **ON_SSD}),
    ("namespace pin abab", {"namespace": NAME, "pinned": True}),
    ("namespace unpin abab", {"namespace": NAME, "pinned": False}),
    ("namespace quota abab 1GiB", {"namespace": NAME, "quota_bytes": 1 << 30}),
    ("tier add-path /mnt/b=1GiB", {**ADDED, "warnings": ["/mnt/b may take more than there is"]}),
    ("tier remove-path /mnt/a", {"path": "/mnt/a", "blocks": 1, "bytes": MIB}),
    (
        "tier resize memory 2GiB",
        {**RESIZED, "moved_blocks": 0, "evicted_blocks": 1, "warnings": []},
    ),
    ("tier flush memory", {"tier": "memory", "blocks": 1, "bytes": MIB}),
    ("tier flush ssd", {"tier": "ssd", "blocks": 0, "bytes": 0}),
    (
        "tier drain memory --yes",
        {"tier": "memory", "copied_blocks": 1, "copied_bytes": MIB, "no_room_blocks": 0, **EVICTED},
    ),
    ("tier evict memory 50% --yes", EVICTED),
    ("tier evict ssd 100% --yes", NONE_KEPT),
    ("tier verify memory", {**VERIFIED, "corrupt": 0}),
    ("tier verify memory", {**VERIFIED, "corrupt": 1}),
    ("trace record /mnt/lookups", RECORDING),
    ("trace record lookups", RECORDING),
    ("warm", WARMED),
    ("warm --dry-run", {**WARMED, "dry_run": True}),
    ("warm", [KeyboardInterrupt(), WARMED]),
    ("tier evict memory 50%", EVICTED),
    ("tier evict memory half --yes", EVICTED),
    ("tier resize memory 1", ConfigError("the pool size is 1 byte, allowed are 2097152 and more")),
    ("tier flush memory", Refused("3 blocks could not be written to ssd")),
    ("tier flush memory", CallTimeout("the daemon (pid 7) did not answer Operate within 5.0 s")),
    ("tier flush memory", Unreachable("no daemon answers on /run/pegaflow/daemon.sock")),
]
"""Each with the result of its operation, or what is raised instead."""


def _daemon(words: list[str], result: Any) -> StandInDaemon:
    name = words[0] if words[0] == "warm" else "-".join(words[:2])
    ssd = status_document()["ssd"] | {"paths": [ssd_path("/mnt/a")]}
    results: dict[str, object] = {name: result}
    if isinstance(result, dict):
        results = {name: operated(name, **result)}
    elif isinstance(result, list):
        ended = json.dumps(operated(name, **result[-1]))
        results = {name: [*result[:-1], ended]}
    status = json.dumps(status_document(ssd=ssd))
    return StandInDaemon("/unused", status_answer=status, results=results)


def test_each_command_ends_in_one_sentence(pegaflow: CommandLine) -> None:
    lines = []
    for text, result in COMMANDS:
        words = text.split()
        pegaflow.daemon = _daemon(words, result)
        outcome = pegaflow(*words)
        assert outcome.code is not None
        assert outcome.out.count("\n") <= 1
        lines += [f"$ pegaflow {text}", *outcome.out.splitlines(), *outcome.err.splitlines()]
        lines += [f"[{int(outcome.code)}]"] if outcome.code else []
    assert keeps("transcript.txt", "\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("code", "words", "daemon"),
    [
        (ExitCode.OK, ["status"], StandInDaemon("", status_answer=json.dumps(status_document()))),
        (ExitCode.FAILED, ["status"], StandInDaemon("", status_answer=Refused("no"))),
        (ExitCode.FAILED, ["stop"], StandInDaemon("", stop_answer=PegaflowError("no"))),
        (ExitCode.USAGE, ["status", "--socket"], StandInDaemon("")),
        (ExitCode.USAGE, ["no-such-command"], StandInDaemon("")),
        (ExitCode.UNREACHABLE, ["status"], StandInDaemon("")),
        (ExitCode.UNREACHABLE, ["stop"], StandInDaemon("")),
        (ExitCode.TIMEOUT, ["status"], StandInDaemon("", status_answer=CallTimeout("late"))),
        (
            ExitCode.PROBLEMS,
            ["status"],
            StandInDaemon("", status_answer=json.dumps(status_document(state="degraded"))),
        ),
    ],
)
def test_each_exit_code_means_one_thing(
    pegaflow: CommandLine, code: ExitCode, words: list[str], daemon: StandInDaemon
) -> None:
    pegaflow.daemon = daemon
    assert pegaflow(*words).code == code


def test_an_operation_that_was_interrupted_has_the_code_of_ctrl_c(pegaflow: CommandLine) -> None:
    pegaflow.daemon = _daemon(["warm"], [KeyboardInterrupt(), WARMED])
    assert pegaflow("warm").code == ExitCode.INTERRUPTED
    assert {int(code) for code in ExitCode} == {0, 1, 2, 3, 4, 5, 130}


def test_a_daemon_that_stops_says_what_stays(pegaflow: CommandLine) -> None:
    pegaflow.daemon = StandInDaemon("", stop_answer=Stopped(pid=7, pool_bytes_kept=MIB))
    assert pegaflow("stop").out == (
        "stopped (pid 7); 1 MiB of memory stay taken for the next daemon, "
        "`pegaflow stop --purge` frees them\n"
    )
