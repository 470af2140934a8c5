"""A client of one engine: asks what the script says, one request after the other."""

import random
import threading
import time
from contextlib import closing
from typing import Final

import httpx

from tests.chaos.judge import ANSWER_S, Ending, Judge
from tests.chaos.mix import Order, orders
from tests.chaos.place import EnginePlace
from tests.engine.engine import EngineProcess

LONGEST_PAUSE_S: Final = 6.0
"""An engine is not stopped longer than this."""

_IMPATIENT_S: Final = (0.001, 0.2)


class Client:
    """Asks the engine at ``place``, whatever engine that is."""

    def __init__(self, place: EnginePlace, judge: Judge, seed: int, number: int) -> None:
        self._place = place
        self._judge = judge
        self._script = orders(seed, number, judge.reference.questions)
        self._source = random.Random(f"patience of client {number} of {seed}")

    def run(self, over: threading.Event) -> None:
        """Ask until the run is over; the last request is answered too."""
        place = self._place
        while place.wait_serving(over):
            kills, engine = place.kills, place.engine
            with engine.connect() as http:
                # Else a server that was stopped for 5 s resets the connection of a waiting request.
                http.headers["Connection"] = "close"
                # In this order: a kill hides the engine first and counts itself then.
                while place.is_serving() and place.kills == kills:
                    if over.is_set():
                        return
                    self._judge.take(self._ask(engine, http, kills, next(self._script)))
                    place.requests += 1

    def _ask(self, engine: EngineProcess, http: httpx.Client, kills: int, order: Order) -> Ending:
        place, question = self._place, self._judge.reference.questions[order.question]
        stays = order.leave_after != 0
        timeout_s = ANSWER_S + LONGEST_PAUSE_S if stays else self._source.uniform(*_IMPATIENT_S)
        tokens: list[int] = []
        error: str | None = None
        left = False
        paused_s, began = place.paused_s(), time.monotonic()
        stream = engine.stream(http, question.prompt, question.generate, timeout_s)
        try:
            with closing(stream):
                for token in stream:
                    tokens.append(token.token)
                    if left := len(tokens) == order.leave_after:
                        break
        except httpx.TimeoutException as timeout:
            left = not stays
            error = None if left else f"no answer: {timeout!r}"
        except (httpx.HTTPError, AssertionError) as failure:
            error = repr(failure)
        seconds = time.monotonic() - began - (place.paused_s() - paused_s)
        return Ending(order.question, tokens, seconds, left, place.kills != kills, error)
