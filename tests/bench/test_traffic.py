"""The requests that engines share are the same work under each routing."""

import random
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from pegaflow.bench.sharing import ROUTINGS, Routing, Traffic
from pegaflow.bench.vllm_engine import Job
from pegaflow.bench.vllm_site import ModelPlan

PLAN = ModelPlan({}, vocabulary=1024, tokens=64, block_bytes=1024)
OWN = 8
"""Tokens of a request that no other has."""

TRAFFIC = st.builds(Traffic.of, st.integers(2, 4), is_quick=st.booleans())


def _jobs(traffic: Traffic, routing: Routing, seed: int) -> list[list[Job]]:
    """Each engine's requests of all rounds."""
    rounds = traffic.jobs(PLAN, routing, random.Random(seed))
    return [[job for own in parts for job in own] for parts in zip(*rounds, strict=True)]


def _prefixes(jobs: Sequence[Job]) -> set[tuple[int, ...]]:
    return {tuple(job.prompt[:-OWN]) for job in jobs}


@given(TRAFFIC, st.sampled_from(ROUTINGS), st.integers())
def test_engines_get_all_requests_and_each_is_one_of_its_own(
    traffic: Traffic, routing: Routing, seed: int
) -> None:
    jobs = _jobs(traffic, routing, seed)
    asked = [job for own in jobs for job in own]
    assert len(asked) == traffic.requests
    assert len({tuple(job.prompt) for job in asked}) == traffic.requests
    assert all(len(job.prompt) == PLAN.tokens for job in asked)
    assert len(_prefixes(asked)) == traffic.prefixes


@given(TRAFFIC, st.integers())
def test_a_sticky_prefix_has_one_engine(traffic: Traffic, seed: int) -> None:
    jobs = _jobs(traffic, "prefix-sticky", seed)
    owned = [_prefixes(own) for own in jobs]
    assert sum(map(len, owned)) == traffic.prefixes


@given(TRAFFIC, st.integers())
def test_in_turn_each_engine_has_as_many_requests(traffic: Traffic, seed: int) -> None:
    jobs = _jobs(traffic, "round-robin", seed)
    counts = [len(own) for own in jobs]
    assert max(counts) - min(counts) <= 1


@given(TRAFFIC, st.sampled_from(ROUTINGS), st.integers())
def test_each_round_asks_for_each_prefix_once(
    traffic: Traffic, routing: Routing, seed: int
) -> None:
    for jobs in traffic.jobs(PLAN, routing, random.Random(seed)):
        asked = [job for own in jobs for job in own]
        assert len(_prefixes(asked)) == len(asked) == traffic.prefixes
