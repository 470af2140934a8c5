"""Whether loading a token's cache is faster than computing it."""

import math
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Final

from pegaflow.errors import ConfigError
from pegaflow.json_text import parse_json
from pegaflow.planning.model import BytesPerToken

_GB: Final = 10**9
_FORMS: Final = "what `pegaflow bench transfer --json` or `pegaflow bench ttft --json` wrote"


@dataclass(frozen=True)
class Rates:
    """How fast a machine computes and loads; None for what is not known."""

    prefill_tokens_s: float | None = None
    load_bytes_s: float | None = None
    ssd_bytes_s: float | None = None


@dataclass(frozen=True)
class Loading:
    """One tier's blocks against computing them."""

    tier: str
    load_us: float
    """Microseconds of a token."""
    compute_us: float
    gain: float
    """How many times as long it takes to compute."""


def measured(paths: Iterable[Path], given: Rates) -> Rates:
    """``given``, and what these measurements say of what it lacks."""
    for path in paths:
        try:
            document = parse_json(path.read_text(encoding="utf-8"))
            found = _rates(document)
            if not all(0 < rate < math.inf for rate in astuple(found) if rate is not None):
                raise ValueError(found)
        except OSError as error:
            raise ConfigError(f"--measured {path} cannot be read: {error.strerror}") from error
        except (ValueError, LookupError, TypeError, ArithmeticError) as error:
            raise ConfigError(f"--measured {path} cannot be used; allowed: {_FORMS}") from error
        given = Rates(
            given.prefill_tokens_s or found.prefill_tokens_s,
            given.load_bytes_s or found.load_bytes_s,
            given.ssd_bytes_s,
        )
    return given


def _rates(document: dict[str, Any]) -> Rates:
    if document["schema"] == "pegaflow.bench-transfer/1":
        # Large transfers, of the layout that suits the machine best.
        loads = [layout["sizes"][-1]["load"]["gb_s"] for layout in document["layouts"]]
        return Rates(load_bytes_s=max(loads) * _GB)
    if document["schema"] == "pegaflow.bench-ttft/1":
        passes = [one for engine in document["engines"] for one in engine["passes"]]
        cold = next(one for one in passes if one["what"] == "cold")
        computed = cold["prompt_tokens"] - cold["cached_tokens"]
        return Rates(prefill_tokens_s=computed / (sum(cold["ttft_ms"]) / 1e3))
    raise ValueError(document["schema"])


def loadings(rates: Rates, token: BytesPerToken, block_tokens: int) -> list[Loading]:
    """Each tier of which the rate is known, when that of computing is."""
    if rates.prefill_tokens_s is None:
        return []
    compute_us = 1e6 / rates.prefill_tokens_s
    size = token.block_bytes(block_tokens) / block_tokens
    tiers = (("memory", rates.load_bytes_s), ("ssd", rates.ssd_bytes_s))
    return [
        Loading(
            tier=tier,
            load_us=round(1e6 * size / rate, 3),
            compute_us=round(compute_us, 3),
            gain=round(compute_us / (1e6 * size / rate), 2),
        )
        for tier, rate in tiers
        if rate is not None
    ]


def break_even_bytes_s(rates: Rates, token: BytesPerToken, block_tokens: int) -> float | None:
    """Bytes per second from which on loading is faster than computing."""
    if rates.prefill_tokens_s is None:
        return None
    return rates.prefill_tokens_s * token.block_bytes(block_tokens) / block_tokens
