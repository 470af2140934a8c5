"""Tasks that run at once, each until it is told that it is over."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.engine.waiting import wait_until

Task = Callable[[threading.Event], None]


def run_together(tasks: Sequence[Task], is_over: Callable[[], bool], seconds: float) -> None:
    """Run ``tasks`` until ``is_over``, which takes less than ``seconds``, or one of them fails.

    Returns when all have ended; raises what the first of them raised.
    """
    over = threading.Event()
    with ThreadPoolExecutor(len(tasks)) as threads:
        running = [threads.submit(task, over) for task in tasks]
        try:
            wait_until(
                lambda: is_over() or any(task.done() for task in running), "the tasks end", seconds
            )
        finally:
            over.set()
    for task in running:
        task.result()
