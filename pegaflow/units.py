"""Sizes and durations as people write them. Units of size are powers of 1024."""

import math
import re
from collections.abc import Mapping
from typing import Final

SIZE_FORM: Final = "a size such as 64MiB, 30gb or plain bytes (units are powers of 1024)"
"""What ``parse_size`` accepts, in words."""

DURATION_FORM: Final = "a duration such as 500ms, 10s, 5m or 2h (a plain number is seconds)"
"""What ``parse_duration`` accepts, in words."""

AMOUNT_FORM: Final = "a part such as 50% or 12.5%, or a size such as 64MiB, 30gb or plain bytes"
"""What ``parse_amount`` accepts, in words."""

_PERCENT: Final = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*%", re.ASCII)
_QUANTITY: Final = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*([a-z]*)", re.ASCII)
_SIZES: Final = {"": 1, "b": 1} | {
    prefix + suffix: 1024**power
    for power, prefix in enumerate("kmgtpe", start=1)
    for suffix in ("", "b", "ib")
}
_SECONDS: Final = {"": 1.0, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LARGEST_SIZE: Final = 2**63 - 1
_LONGEST_S: Final = 10**9


def parse_size(text: str) -> int:
    """Bytes of a written size; ``ValueError`` for anything else, negative values included.

    >>> parse_size("64MiB"), parse_size("30gb"), parse_size("4096"), parse_size("1.5 k")
    (67108864, 32212254720, 4096, 1536)
    >>> parse_size("-1")
    Traceback (most recent call last):
    ValueError: expected a size such as 64MiB, 30gb or plain bytes (units are powers of 1024)
    """
    size = _quantity(text, _SIZES, SIZE_FORM)
    if size > _LARGEST_SIZE:
        raise ValueError("expected a size below 8EiB")
    return int(size)


def parse_amount(text: str) -> dict[str, float]:
    """A part of something, or bytes of it, as operations have them; ``ValueError`` for others.

    >>> parse_amount("12.5%"), parse_amount("64MiB")
    ({'percent': 12.5}, {'bytes': 67108864})
    >>> parse_amount("101%")
    Traceback (most recent call last):
    ValueError: expected a part such as 50% or 12.5%, or a size such as 64MiB, 30gb or plain bytes
    """
    if match := _PERCENT.fullmatch(text.strip()):
        percent = float(match[1])
        if 0 < percent <= 100:
            return {"percent": percent}
    elif "%" not in text and (size := parse_size(text)) > 0:
        return {"bytes": size}
    raise ValueError(f"expected {AMOUNT_FORM}")


def format_size(size: int) -> str:
    """A size for people, in the largest unit that it reaches, with at most one decimal.

    >>> format_size(67108864), format_size(1536), format_size(12), format_size(0)
    ('64 MiB', '1.5 KiB', '12 B', '0 B')
    """
    if size < 1024:
        return f"{size} B"
    value, unit = size / 1024, "K"
    for larger in "MGTPE":
        if round(value, 1) < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.1f}".removesuffix(".0") + f" {unit}iB"


def format_count(count: int, noun: str) -> str:
    """So many of something whose plural has an s more.

    >>> format_count(1, "block"), format_count(1024, "block")
    ('1 block', '1,024 blocks')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def parse_duration(text: str) -> float:
    """Seconds of a written duration; ``ValueError`` for anything else, negative values included.

    >>> parse_duration("500ms"), parse_duration("10"), parse_duration("1.5h")
    (0.5, 10.0, 5400.0)
    >>> parse_duration("10 parsecs")
    Traceback (most recent call last):
    ValueError: expected a duration such as 500ms, 10s, 5m or 2h (a plain number is seconds)
    """
    try:
        seconds = float(_quantity(text, _SECONDS, DURATION_FORM))
    except OverflowError:
        seconds = math.inf
    if seconds > _LONGEST_S:
        raise ValueError(f"expected a duration of at most {_LONGEST_S:,} s")
    return seconds


def format_duration(seconds: float) -> str:
    """A duration for people, in its two largest units.

    >>> format_duration(0.0123), format_duration(7.5), format_duration(125), format_duration(90000)
    ('12.3 ms', '7.5 s', '2 m 5 s', '1 d 1 h')
    """
    if seconds < 1:
        return f"{seconds * 1000:.1f}".removesuffix(".0") + " ms"
    if seconds < 60:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    left, parts = int(seconds), list[str]()
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, left = divmod(left, length)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])


def _quantity(text: str, units: Mapping[str, float], form: str) -> float:
    match = _QUANTITY.fullmatch(text.strip().lower())
    unit = units.get(match[2]) if match else None
    if match is None or unit is None:
        raise ValueError(f"expected {form}")
    # Whole numbers stay exact above 2**53.
    return int(match[1]) * unit if match[1].isdigit() else float(match[1]) * unit
