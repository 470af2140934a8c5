"""The kinds of values that settings have: how their text is read, and what is allowed."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pegaflow.config.locations import SOCKET_MAX_BYTES
from pegaflow.config.ssd import SSD_FORM, SsdPaths
from pegaflow.file_names import NAME_FORM, local_name
from pegaflow.units import DURATION_FORM, SIZE_FORM, parse_duration, parse_size

AUTO: Final = "auto"
"""The text of a value that the daemon finds by itself; its parsed form is None."""

NONE: Final = "none"
"""The text of a value that is not set; its parsed form is None."""


@dataclass(frozen=True)
class Kind:
    """One kind of value. ``parse`` raises ``ValueError`` for text that is not ``allowed``."""

    metavar: str
    """The word for a value in help."""
    allowed: str
    """What is allowed, in words."""
    parse: Callable[[str], Any]

    def or_word(self, word: str) -> "Kind":
        """This kind, or ``word``, which parses to None."""
        return Kind(
            self.metavar,
            f"{word}, or {self.allowed}",
            lambda text: None if text.strip().lower() == word else self.parse(text),
        )


def choice(*words: str) -> Kind:
    """One of a few words."""

    def parse(text: str) -> str:
        word = text.strip().lower()
        if word not in words:
            raise ValueError(text)
        return word

    return Kind("|".join(words), "one of " + ", ".join(words), parse)


def integer(least: int, most: int) -> Kind:
    """A whole number from ``least`` to ``most``."""

    def parse(text: str) -> int:
        number = int(text)
        if not least <= number <= most:
            raise ValueError(text)
        return number

    return Kind("NUMBER", f"a whole number from {least} to {most}", parse)


def number(least: float, most: float) -> Kind:
    """A number from ``least`` to ``most``."""

    def parse(text: str) -> float:
        if re.fullmatch(r"\d+(\.\d+)?", text.strip(), re.ASCII) is None:
            raise ValueError(text)
        value = float(text)
        if not least <= value <= most:
            raise ValueError(text)
        return value

    return Kind("NUMBER", f"a number from {least:g} to {most:g}", parse)


def _switch(text: str) -> bool:
    word = text.strip().lower()
    if word not in ("on", "true", "off", "false"):
        raise ValueError(text)
    return word in ("on", "true")


def _positive_size(text: str) -> int:
    size = parse_size(text)
    if size == 0:
        raise ValueError(text)
    return size


def _positive_duration(text: str) -> float:
    seconds = parse_duration(text)
    if seconds == 0:
        raise ValueError(text)
    return seconds


def _path(text: str) -> str:
    if not text.strip():
        raise ValueError(text)
    return local_name(str(Path(text).expanduser().absolute()))


def _socket_path(text: str) -> str:
    path = _path(text)
    if len(os.fsencode(path)) > SOCKET_MAX_BYTES:
        raise ValueError(text)
    return path


def _endpoint(text: str) -> str:
    url = text.strip().removesuffix("/")
    scheme, found, rest = url.partition("://")
    address, _, path = rest.partition("/")
    if not found or scheme not in ("http", "https") or re.search(r"[^!-~]|[?#]", path):
        raise ValueError(text)
    # The port of https is known.
    _address(address if scheme == "http" or _has_port(address) else f"{address}:443")
    return url


def _has_port(address: str) -> bool:
    return ":" in address.rpartition("]")[2]


def _address(text: str) -> str:
    match = re.fullmatch(r"(\[[0-9a-fA-F:]+\]|[\w.-]+):(\d{1,5})", text.strip(), re.ASCII)
    if match is None or int(match[2]) > 65535:
        raise ValueError(text)
    return match[0]


SIZE: Final = Kind("SIZE", SIZE_FORM, _positive_size)
DURATION: Final = Kind("DURATION", DURATION_FORM, _positive_duration)
PATH: Final = Kind("PATH", NAME_FORM, _path)
SOCKET_PATH: Final = Kind("PATH", f"{NAME_FORM}, at most {SOCKET_MAX_BYTES} bytes", _socket_path)
ADDRESS: Final = Kind("HOST:PORT", "host:port such as 127.0.0.1:9091", _address)
ENDPOINT: Final = Kind(
    "URL", "http://host:port such as http://127.0.0.1:4317, or https://host", _endpoint
)
GROUP: Final = Kind("NAME", "the name of a group of this host", str.strip)
SWITCH: Final = Kind("on|off", "on or off", _switch)
SSD_PATHS: Final = Kind("PATH=SIZE", SSD_FORM, SsdPaths.parse)
