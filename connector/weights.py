"""What the weights in a local directory are, told apart by content and without reading all of it.

Two fine-tunes can have equal names, sizes and headers, so each tensor is sampled.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from pegaflow.connector.facts import ModelSource
from pegaflow.errors import ConfigError

_SAMPLE_BYTES: Final = 4096
_HEADER_LIMIT: Final = 256 << 20
_WEIGHTS: Final = (".safetensors", ".bin", ".pt", ".pth", ".gguf")
_CONFIGS: Final = (
    "config.json",
    "adapter_config.json",
    "hf_quant_config.json",
    "quantize_config.json",
)


def name_weights(source: ModelSource, salt: str) -> str:
    """What the weights of a model are: equal texts for equal weights, on every host.

    Raises ``ConfigError`` when nothing names them; a ``salt`` takes the user's word instead.
    """
    if source.random:
        return f"random {source.name}"
    if source.commit is not None:
        return f"commit {source.name} {source.commit}"
    path = Path(source.name)
    if path.exists():
        try:
            return f"content {fingerprint(path, default_cache())}"
        except (OSError, ValueError, LookupError) as error:
            why = str(error)
    else:
        why = f"the commit of {source.name} is not known"
    if salt:
        return f"named {source.name} {source.revision}"
    raise ConfigError(
        f"the weights cannot be told from others: {why}; give a commit as --revision, or name the "
        "weights in pegaflow.namespace_salt"
    )


def fingerprint(path: Path, cache: Path | None = None) -> str:
    """SHA-256, in hexadecimal, of a model's configuration and samples of its weights.

    ``path`` is a directory or one file. ``cache`` is a directory that remembers files by inode,
    size and time of change. Raises ``OSError`` when a file cannot be read, ``ValueError`` when
    there are no weights.
    """
    files = [path] if path.is_file() else sorted(path.iterdir())
    weights = [file for file in files if file.suffix in _WEIGHTS and file.is_file()]
    if not weights:
        raise ValueError(f"{path} has no weights ({', '.join(_WEIGHTS)})")
    whole = hashlib.sha256()
    for file in files:
        if file.name in _CONFIGS:
            _add(whole, file.name, hashlib.sha256(file.read_bytes()).hexdigest())
    for file in weights:
        _add(whole, file.name, _remembered(file, cache))
    return whole.hexdigest()


def default_cache() -> Path:
    """Where fingerprints of files are remembered: ``$XDG_CACHE_HOME/pegaflow/weights``."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "pegaflow" / "weights"


def _remembered(file: Path, cache: Path | None) -> str:
    if cache is None:
        return _file(file)
    status = file.stat()
    identity = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    entry = cache / hashlib.sha256(repr(identity).encode()).hexdigest()
    try:
        return entry.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        found = _file(file)
        _remember(entry, found)
        return found


def _remember(entry: Path, found: str) -> None:
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=entry.parent)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(found)
        Path(name).replace(entry)
    except OSError:
        return  # a cache that cannot be written only costs time


def _file(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        spans = _tensors(file, size) if path.suffix == ".safetensors" else [("", 0, size)]
        for name, start, end in spans:
            _add(found, name, str(end - start))
            for offset in _offsets(start, end):
                file.seek(offset)
                found.update(file.read(min(_SAMPLE_BYTES, end - offset)))
    return found.hexdigest()


def _tensors(file: BinaryIO, size: int) -> Iterator[tuple[str, int, int]]:
    """Each tensor of a safetensors file: its description, and where its bytes begin and end."""
    length = int.from_bytes(file.read(8), "little")
    if not 0 < length <= min(size - 8, _HEADER_LIMIT):
        raise ValueError(f"{file.name} is not a safetensors file: its header has {length} bytes")
    header = json.loads(file.read(length))
    for name in sorted(header):
        if name != "__metadata__":
            entry = header[name]
            start, end = entry["data_offsets"]
            yield f"{name} {entry['dtype']} {entry['shape']}", 8 + length + start, 8 + length + end


def _offsets(start: int, end: int) -> Iterable[int]:
    """Where the three samples begin: at the start, around the middle and up to the end."""
    last = max(start, end - _SAMPLE_BYTES)
    return sorted({start, (start + last) // 2, last})


def _add(found: "hashlib._Hash", *parts: str) -> None:
    for part in parts:
        encoded = part.encode()
        found.update(len(encoded).to_bytes(8, "little"))
        found.update(encoded)
