"""The KV blocks of the simulated engine: their memory in each worker, their owners, their cache."""

import os

from tests.connector.simulated_request import BLOCK_TOKENS, SimRequest


class BlockPool:
    """A block's memory is its tokens' chained hash once they are computed, else random bytes."""

    def __init__(self, blocks: int, workers: int) -> None:
        self.memory = [[os.urandom(32) for _ in range(blocks)] for _ in range(workers)]
        self._free = list(range(1, blocks))
        self._owners: dict[int, set[str]] = {block: set() for block in range(blocks)}
        self._by_hash: dict[bytes, int] = {}
        self._hash_of: dict[int, bytes] = {}

    def read(self, rank: int, block: int) -> bytes:
        return self.memory[rank][block]

    def load(self, rank: int, request_id: str, block: int, content: bytes) -> None:
        assert self._owners[block] == {request_id}, f"a copy writes block {block} of others"
        self.memory[rank][block] = content

    def allocate(self, request: SimRequest, tokens: int) -> bool:
        """Blocks for ``tokens`` tokens in all; False when there are not enough."""
        missing = -(-tokens // BLOCK_TOKENS) - len(request.blocks)
        if missing > len(self._free):
            return False
        for _ in range(max(0, missing)):
            block = self._free.pop(0)
            self._by_hash.pop(self._hash_of.pop(block, b""), None)
            self._owners[block] = {request.request_id}
            request.blocks.append(block)
        return True

    def hit(self, request: SimRequest) -> list[int]:
        """VLLM's own prefix hit: it leaves at least one token to compute."""
        found = []
        for hash in request.hashes[: (request.known - 1) // BLOCK_TOKENS]:
            if hash not in self._by_hash:
                break
            found.append(self._by_hash[hash])
        return found

    def adopt(self, request: SimRequest, blocks: list[int]) -> None:
        """The request shares these blocks from now on."""
        for block in blocks:
            if block in self._free:
                self._free.remove(block)
            self._owners[block].add(request.request_id)
        request.blocks = list(blocks)

    def publish(self, request: SimRequest, tokens: int) -> None:
        """Full blocks up to ``tokens`` can be hit from now on."""
        for at in range(min(tokens, request.known) // BLOCK_TOKENS):
            hash, block = request.hashes[at], request.blocks[at]
            if hash not in self._by_hash and block not in self._hash_of:
                self._by_hash[hash] = block
                self._hash_of[block] = hash

    def release(self, request_id: str, blocks: list[int]) -> None:
        """The request needs these blocks no more; they stay hits until they are allocated."""
        for block in reversed(blocks):
            self._owners[block].discard(request_id)
            if not self._owners[block]:
                self._free.append(block)

    def unused(self) -> int:
        return len(self._free)

    def used(self) -> int:
        return len(self._owners) - 1 - len(self._free)

    def forget_hits(self) -> None:
        """Reset vLLM's own prefix cache."""
        self._by_hash.clear()
        self._hash_of.clear()

    def compute(self, request: SimRequest, tokens: int) -> None:
        """Run the forward of the request's next ``tokens`` true tokens on all workers."""
        for memory in self.memory:
            for at in range(request.in_memory // BLOCK_TOKENS):
                assert memory[request.blocks[at]] == request.hashes[at], (
                    f"{request.request_id} is computed on a wrong block {request.blocks[at]}"
                )
            first, last = request.in_memory, request.in_memory + tokens
            for at in range(first // BLOCK_TOKENS, -(-last // BLOCK_TOKENS)):
                full = (at + 1) * BLOCK_TOKENS <= last
                memory[request.blocks[at]] = request.hashes[at] if full else os.urandom(32)
        request.in_memory += tokens
