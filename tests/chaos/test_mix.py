"""One seed is one mix."""

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from tests.chaos.mix import first_turns, orders, second_turns
from tests.engine.vllm_install import BLOCK_TOKENS, MAX_TOKENS

SEEDS = st.integers(0, 2**32)


def answers(seed: int) -> list[tuple[int, ...]]:
    return [tuple(range(question.generate)) for question in first_turns(seed)]


@given(SEEDS, st.integers(0, 20))
def test_the_same_seed_asks_the_same(seed: int, client: int) -> None:
    questions = first_turns(seed)
    assert first_turns(seed) == questions
    script = list(islice(orders(seed, client, questions), 50))
    assert list(islice(orders(seed, client, questions), 50)) == script
    assert list(islice(orders(seed, client + 1, questions), 50)) != script


@given(SEEDS)
def test_every_question_can_be_answered(seed: int) -> None:
    first = first_turns(seed)
    for question in first + second_turns(seed, first, answers(seed)):
        assert len(question.prompt) + question.generate <= MAX_TOKENS


@given(SEEDS)
def test_prompts_share_prefixes_and_some_are_exactly_full_blocks(seed: int) -> None:
    questions = first_turns(seed)
    assert any(len(question.prompt) % BLOCK_TOKENS == 0 for question in questions)
    begins = {question.prompt[:BLOCK_TOKENS] for question in questions}
    assert 1 < len(begins) < len(questions) / 2


@given(SEEDS)
def test_a_second_turn_goes_on_where_a_first_one_ended(seed: int) -> None:
    first = first_turns(seed)
    ends = {question.prompt + answer for question, answer in zip(first, answers(seed), strict=True)}
    for question in second_turns(seed, first, answers(seed)):
        assert any(question.prompt[: len(end)] == end for end in ends)


@given(SEEDS)
def test_some_clients_leave_before_their_answer_is_whole(seed: int) -> None:
    questions = first_turns(seed)
    script = list(islice(orders(seed, 0, questions), 200))
    leaving = [order for order in script if order.leave_after is not None]
    assert 0 < len(leaving) < len(script) / 2
    for order in leaving:
        assert order.leave_after is not None
        assert order.leave_after < questions[order.question].generate
