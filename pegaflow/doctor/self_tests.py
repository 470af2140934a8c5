"""The round trips that the daemon made when it started."""

from collections.abc import Iterator

from pegaflow.doctor.finding import Finding
from pegaflow.models import Status
from pegaflow.units import format_size


def check(status: Status) -> Iterator[Finding]:
    """Whether bytes came back on each copy path that the daemon has."""
    for test in status.self_tests:
        if test.error is None:
            size, took = format_size(test.bytes), test.duration_s * 1000
            evidence = f"{size} of random bytes went there and back in {took:.1f} ms"
            yield Finding("self-test", "ok", f"{test.copy_path} copies work", evidence)
        else:
            text = f"{test.copy_path} copies do not work: nothing is saved or loaded by them"
            remedy = "remove what the daemon names, and restart it"
            yield Finding("self-test", "problem", text, test.error, remedy)
