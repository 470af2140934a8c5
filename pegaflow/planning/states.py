"""Bytes of recurrent layers, which keep one state however long the prompt is."""

from collections.abc import Callable
from typing import Final, NamedTuple

from pegaflow.errors import ConfigError
from pegaflow.planning.config_json import GIVE, ModelConfig


class State(NamedTuple):
    """Values of one layer's state."""

    values: int
    formula: str


def _mamba1(config: ModelConfig) -> State:
    jamba = config.model_type == "jamba"
    inner = None if jamba else config.number_or_none("intermediate_size")
    inner = inner or config.number("mamba_expand", "expand") * config.number("hidden_size")
    size = config.number("state_size", "mamba_d_state")
    kernel = config.number("conv_kernel", "mamba_d_conv")
    return State(inner * (kernel - 1 + size), f"{inner} x ({kernel - 1} + {size})")


def _mamba2(config: ModelConfig) -> State:
    heads = config.number("mamba_num_heads", "mamba_n_heads", "n_mamba_heads", "num_heads")
    size = config.number("ssm_state_size", "mamba_d_state", "state_size")
    groups = config.number("n_groups", "mamba_n_groups", "mamba_ngroups")
    kernel = config.number("conv_kernel", "mamba_d_conv")
    names = ("mamba_head_dim", "mamba_d_head", "mamba_headdim", "head_dim")
    # Some have a word there, for what follows from the others.
    width = None if isinstance(config.get(*names), str) else config.number_or_none(*names)
    if width is None:
        expand = config.number("mamba_expand", "expand")
        width = expand * config.number("hidden_size") // heads
    conv = (kernel - 1) * (heads * width + 2 * groups * size)
    return State(conv + heads * width * size, f"{conv} + {heads} x {width} x {size}")


def _delta_net(config: ModelConfig) -> State:
    keys, values = (config.number(f"linear_num_{of}_heads") for of in ("key", "value"))
    key_dim, value_dim = (config.number(f"linear_{of}_head_dim") for of in ("key", "value"))
    kernel = config.number("linear_conv_kernel_dim")
    conv = (kernel - 1) * (2 * keys * key_dim + values * value_dim)
    return State(
        conv + values * value_dim * key_dim, f"{conv} + {values} x {value_dim} x {key_dim}"
    )


_STATES: Final[dict[str, Callable[[ModelConfig], State]]] = {
    "mamba": _mamba1, "falcon_mamba": _mamba1, "jamba": _mamba1,
    "mamba2": _mamba2, "bamba": _mamba2, "nemotron_h": _mamba2, "zamba2": _mamba2,
    "falcon_h1": _mamba2, "granitemoehybrid": _mamba2,
    "qwen3_next": _delta_net, "qwen3_5": _delta_net, "qwen3_5_text": _delta_net,
    "qwen3_5_moe": _delta_net, "qwen3_5_moe_text": _delta_net,
}  # fmt: skip


def state_of(config: ModelConfig) -> State:
    """One recurrent layer's state; ``ConfigError`` when it is not known how large that is."""
    found = _STATES.get(config.model_type)
    if found is None:
        raise ConfigError(
            f"{config.where}: the recurrent layers of model_type {config.model_type!r} are not "
            f"known; allowed: {', '.join(_STATES)}; {GIVE}"
        )
    return found(config)


def is_recurrent(config: ModelConfig) -> bool:
    """Whether the model has recurrent layers."""
    return config.model_type in _STATES
