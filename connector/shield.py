"""Keeps errors of the cache away from vLLM: they are logged and counted, and the engine goes on."""

import functools
import logging
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")

log: Final = logging.getLogger("vllm.pegaflow")
"""A child of vLLM's logger, so that its handlers and level apply."""

_seen: Final[Counter[str]] = Counter()


def report(what: str, error: Exception) -> None:
    """Log that ``what`` failed: the 1st, 2nd, 4th, 8th ... time, since a step may repeat it."""
    _seen[what] += 1
    count = _seen[what]
    if count & (count - 1) == 0:
        log.error("%s failed, time %d; vLLM goes on without it", what, count, exc_info=error)


def shielded(fallback: Callable[[], Any]) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """Make a function answer ``fallback()`` instead of raising."""

    def decorate(function: Callable[_P, _T]) -> Callable[_P, _T]:
        @functools.wraps(function)
        def guarded(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            try:
                return function(*args, **kwargs)
            except Exception as error:
                report(function.__qualname__, error)
                answer: _T = fallback()
                return answer

        return guarded

    return decorate
