"""Which of a model's layers keep what."""

from collections import Counter
from typing import Final

from pegaflow.errors import ConfigError
from pegaflow.planning.config_json import GIVE, ModelConfig
from pegaflow.planning.states import is_recurrent

FULL: Final = "full"
SLIDING: Final = "sliding"
STATE: Final = "state"
BOTH: Final = "both"
"""Attention and a state in one layer."""
_NOTHING: Final = "nothing"

_KINDS: Final = {
    "full_attention": FULL, "attention": FULL, "global": FULL,
    "sliding_attention": SLIDING, "chunked_attention": SLIDING, "local": SLIDING,
    "linear_attention": STATE, "mamba": STATE, "mamba2": STATE, "recurrent": STATE,
    "hybrid": BOTH, "mlp": _NOTHING, "moe": _NOTHING,
}  # fmt: skip
_NEMOTRON: Final = {"M": STATE, "*": FULL, "-": _NOTHING, "E": _NOTHING}


def layers_of(config: ModelConfig) -> Counter[str]:
    """How many layers of each kind have a cache of their own."""
    kinds = _kinds(config)
    # The last layers may use the cache of earlier ones.
    shared = config.number_or_none("num_kv_shared_layers") or 0
    return Counter(kinds[: max(len(kinds) - shared, 0)])


def _kinds(config: ModelConfig) -> list[str]:
    if config.model_type == "nemotron_h" and isinstance(
        pattern := config.get("hybrid_override_pattern"), str
    ):
        return [_kind(config, letter, _NEMOTRON) for letter in pattern]
    words = config.words("layer_types", "layers_block_type")
    count = len(words) or config.number("num_hidden_layers", "n_layer", "num_layers", "n_layers")
    if words:
        return [_kind(config, word, _KINDS) for word in words]
    if config.model_type == "falcon_h1":
        return [BOTH] * count
    if every := config.number_or_none("full_attention_interval"):
        return [STATE if (layer + 1) % every else FULL for layer in range(count)]
    if every := config.number_or_none("attn_layer_period"):
        first = config.number_or_none("attn_layer_offset") or 0
        return [FULL if layer % every == first else STATE for layer in range(count)]
    if config.get("attn_layer_indices") is not None:
        full = set(config.numbers("attn_layer_indices"))
        return [FULL if layer in full else STATE for layer in range(count)]
    if is_recurrent(config):
        return [STATE] * count
    if config.get("sliding_window") and (every := _sliding_period(config)):
        return [SLIDING if (layer + 1) % every else FULL for layer in range(count)]
    return [FULL] * count


def _sliding_period(config: ModelConfig) -> int | None:
    """Of so many layers one does not slide, in configurations that do not list them."""
    default = {"gemma2": 2, "gemma3_text": 6, "gpt_oss": 2}.get(config.model_type)
    period = config.get("sliding_window_pattern", "_sliding_window_pattern")
    return period if isinstance(period, int) and period > 0 else default


def _kind(config: ModelConfig, word: str, known: dict[str, str]) -> str:
    kind = known.get(word)
    if kind is None:
        raise ConfigError(
            f"{config.where}: layers of the kind {word!r} are not known; allowed: "
            f"{', '.join(known)}; {GIVE}"
        )
    return kind
