"""What the connector knows of an engine, free of vLLM's classes and versions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ModelSource:
    """Where the weights of a model come from."""

    name: str
    """A Hub id, or the path of a directory or file."""
    revision: str | None
    """As the user gave it."""
    commit: str | None
    """What the revision resolved to, for a model of the Hub."""
    random: bool
    """The weights are not read but made up (``load_format="dummy"``)."""


@dataclass(frozen=True)
class LayerFacts:
    """How vLLM describes the cache of one layer."""

    name: str
    kind: str
    full_attention: bool
    """Every block of a prefix is needed, and holds all that its tokens left behind."""
    non_causal: bool
    geometry: Mapping[str, Any]


@dataclass(frozen=True)
class Parallelism:
    """The parallel sizes of one engine; data parallelism makes several engines."""

    tensor: int
    pipeline: int
    decode_context: int
    prefill_context: int
    replicas: int
    """Consecutive tensor-parallel ranks that hold equal bytes."""
    pipeline_split: str | None
    """How the user split the layers over the pipeline's stages, when not evenly."""

    @property
    def workers(self) -> int:
        """Processes that hold a part of the cache."""
        return self.tensor * self.pipeline * self.prefill_context

    @property
    def shards(self) -> int:
        """Pages that make up a block."""
        return self.workers // self.replicas


@dataclass(frozen=True)
class EngineFacts:
    """An engine, as its configuration describes it."""

    engine_id: str
    vllm: str
    """Major and minor version."""
    model: ModelSource
    draft: ModelSource | None
    """The model that proposes tokens: its layers are cached too."""
    config: Mapping[str, Any]
    """The model's effective configuration, with the user's overrides in it."""
    variants: Mapping[str, Any]
    """Options of vLLM that change what the model computes."""
    max_model_len: int
    dtype: str
    cache_dtype: str
    quantization: str | None
    own_scales: bool
    """Each process quantizes the cache with scales that it computes for itself."""
    kv_layout: str | None
    """The physical order that vLLM says it uses."""
    block_tokens: int
    """Tokens of one block, over all ranks that share its tokens."""
    hash_tokens: int
    hash_bytes: int
    num_blocks: int
    groups: tuple[tuple[LayerFacts, ...], ...]
    parallelism: Parallelism
    hosts: int
    """Machines that the engine's workers are on, as far as the configuration says it."""

    @property
    def worker_block_tokens(self) -> int:
        """Tokens of a block whose KV one worker holds."""
        return int(self.groups[0][0].geometry["block_size"])

    def refusal(self) -> str | None:
        """Why this engine's cache cannot be shared, in one sentence; None when it can."""
        if self.hosts > 1:
            return (
                f"vLLM spreads this engine over {self.hosts} hosts and one daemon serves the "
                "workers of one host only; run one engine for each host (data parallelism)"
            )
        if len(self.groups) > 1:
            return (
                f"the model has {len(self.groups)} cache groups and only one is supported so far; "
                "start vLLM with --disable-hybrid-kv-cache-manager to make them one if the model "
                "allows it"
            )
        layers = [layer for group in self.groups for layer in group]
        if not layers:
            return "the model has no KV cache"
        for layer in layers:
            if not layer.full_attention:
                return (
                    f"layer {layer.name} is of kind {layer.kind} and only full attention (also "
                    "MLA) is supported so far"
                )
            if layer.non_causal:
                return f"layer {layer.name} attends to later tokens, so no block can be used again"
        if self.own_scales:
            return (
                "each process computes its own scales for the KV cache; turn calculate_kv_scales "
                "off"
            )
        if self.hash_tokens != self.block_tokens:
            return (
                f"blocks are hashed every {self.hash_tokens} tokens but have {self.block_tokens}; "
                "leave prefix_match_unit unset"
            )
        return None
