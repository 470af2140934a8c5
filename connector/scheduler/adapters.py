"""What the weights of LoRA adapters are: two adapters can have equal names and paths."""

from pathlib import Path
from typing import Any

from pegaflow.connector.shield import log
from pegaflow.connector.weights import default_cache, fingerprint


class Adapters:
    """Fingerprints of the adapters that requests name, each read when it is first used."""

    def __init__(self) -> None:
        self._known: dict[int, bytes | None] = {}

    def weights_of(self, adapter: Any) -> bytes | None:
        """32 bytes for a ``LoRARequest`` of vLLM; None when its weights are not local files."""
        number = adapter.lora_int_id
        if number not in self._known or getattr(adapter, "load_inplace", False):
            self._known[number] = self._read(str(adapter.lora_path))
        return self._known[number]

    def _read(self, path: str) -> bytes | None:
        try:
            return bytes.fromhex(fingerprint(Path(path).expanduser(), default_cache()))
        except (OSError, ValueError, LookupError) as error:
            log.warning("requests of adapter %s are not cached: %s", path, error)
            return None
