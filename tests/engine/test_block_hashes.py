"""What blocks are cached under tells adapters, salts and images apart, by vLLM's hash and our key.

vLLM 0.26 hashes an adapter's name and a salt of the same text alike; the connector's key does not.
"""

import itertools
import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from pegaflow.connector.scheduler.tracker import Record
from tests.engine.vllm_install import VllmInstall

pytestmark = pytest.mark.engine

_SCRIPT: Final = Path(__file__).with_name("block_hashes.py")
_WORDS: Final = ["", "a", "b", "ab"]
_IMAGES: Final = [[], ["a"], ["b"], ["ab"], ["a", "b"], ["b", "a"]]
_MIXED: Final[list[dict[str, Any]]] = [
    {"adapter": adapter, "salt": salt, "images": images}
    for adapter, salt, images in itertools.product(_WORDS, _WORDS, _IMAGES)
]
_OF_IMAGES: Final[list[dict[str, Any]]] = [
    {"adapter": "", "salt": "", "images": [f"image-{number}"]} for number in range(1000)
]


@pytest.fixture(scope="module")
def keys(install: VllmInstall) -> list[bytes]:
    """The keys of the first blocks of ``_MIXED`` and ``_OF_IMAGES``."""
    requests = _MIXED + _OF_IMAGES
    done = subprocess.run(
        [str(install.python), str(_SCRIPT)],
        input=json.dumps(requests),
        env=install.environment(Path("unused")),
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    )
    hashes = [bytes.fromhex(text) for text in json.loads(done.stdout.splitlines()[-1])]
    return [_key(request, hash) for request, hash in zip(requests, hashes, strict=True)]


def _key(request: dict[str, Any], hash: bytes) -> bytes:
    weights = f"weights of {request['adapter']}".encode() if request["adapter"] else b""
    asked: Any = SimpleNamespace(block_hashes=[hash])
    return Record(asked, adapter=weights).keys(0, 1)[0]


def test_no_two_of_adapter_salt_and_image_are_confused(keys: list[bytes]) -> None:
    assert len(set(keys[: len(_MIXED)])) == len(_MIXED)


def test_a_thousand_images_have_a_thousand_keys(keys: list[bytes]) -> None:
    of_images = keys[len(_MIXED) :]

    assert len(set(of_images)) == 1000
    assert {len(key) for key in of_images} == {32}
