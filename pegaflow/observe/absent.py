"""Why a part of the view has nothing to show: a sentence each, instead of an empty box."""

from typing import Final

CEILING: Final = "no ceiling: this daemon does not estimate how many different blocks are asked for"
GHOST: Final = "no would-have-hit count: this daemon does not remember what it evicted"
RESIDENCE: Final = "no age at eviction: this daemon does not time how long blocks stay"
PEERS: Final = "no peers: this daemon serves one host, its remote tier is not there yet"
PREFIXES: Final = "no hot prefixes: this daemon has no scan of its blocks"
NUMA: Final = "no counts by NUMA node: this daemon does not tell where its pool's pages lie"
ENGINE_TRAFFIC: Final = "saves and loads are counted per daemon, not per engine"
REMOTE_TIER: Final = "no remote tier"
NO_SSD: Final = "no ssd tier: `pegaflow serve --ssd PATH=SIZE` gives one"
