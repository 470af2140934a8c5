"""Prints, as JSON, the first block hashes that vLLM gives to requests that differ in one thing.

Runs under the Python of the vLLM installation. Standard input is a JSON list of requests, each with
``adapter``, ``salt`` and ``images`` (identifiers), all of them over the same tokens.
"""

import json
import sys
from typing import Any

from vllm import SamplingParams
from vllm.lora.request import LoRARequest
from vllm.multimodal.inputs import MultiModalFeatureSpec, PlaceholderRange
from vllm.utils.hashing import sha256
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.request import Request

BLOCK_TOKENS = 32


def first_hash(number: int, adapter: str, salt: str, images: list[str]) -> str:
    """The hash of the first block of a request."""
    features = [
        MultiModalFeatureSpec(
            data=None,
            modality="image",
            identifier=image,
            mm_position=PlaceholderRange(offset=0, length=8),
        )
        for image in images
    ]
    lora: Any = LoRARequest(adapter, 1, "/adapters/one") if adapter else None
    request = Request(
        f"r{number}",
        list(range(BLOCK_TOKENS)),
        SamplingParams(max_tokens=1),
        None,
        mm_features=features,
        lora_request=lora,
        cache_salt=salt or None,
        block_hasher=get_request_block_hasher(BLOCK_TOKENS, sha256),
    )
    return bytes(request.block_hashes[0]).hex()


def main() -> None:
    """Answer standard input on standard output."""
    init_none_hash(sha256)
    requests = json.load(sys.stdin)
    print(json.dumps([first_hash(at, **request) for at, request in enumerate(requests)]))


if __name__ == "__main__":
    main()
