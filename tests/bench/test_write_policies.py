"""The model that compares when to write blocks."""

from hypothesis import given
from hypothesis import strategies as st

from tests.bench.write_policies import ADMISSION, WHEN, Outcome, Request, simulate

_PROMPTS = st.lists(st.lists(st.integers(0, 40), unique=True, max_size=12), max_size=40)


def _outcomes(prompts: list[list[int]], memory: int, disk: int) -> dict[tuple[str, str], Outcome]:
    requests = [Request(number * 1000, blocks) for number, blocks in enumerate(prompts)]
    return {
        (when, admission): simulate(requests, when, admission, memory, disk, 1000)
        for when in WHEN
        for admission in ADMISSION
    }


@given(_PROMPTS, st.integers(1, 20), st.integers(1, 60))
def test_no_more_is_found_than_was_asked_for(
    prompts: list[list[int]], memory: int, disk: int
) -> None:
    for one in _outcomes(prompts, memory, disk).values():
        assert one.requested == sum(map(len, prompts))
        assert one.memory_hits + one.ssd_hits <= one.requested


@given(_PROMPTS, st.integers(1, 20))
def test_what_is_written_at_seal_to_a_disk_with_room_is_never_lost(
    prompts: list[list[int]], memory: int
) -> None:
    outcomes = _outcomes(prompts, memory, 1000)
    assert outcomes["seal", "all"].lost == 0
    for one in outcomes.values():
        assert one.written <= outcomes["seal", "all"].written
        assert one.ssd_hits <= outcomes["seal", "all"].ssd_hits
