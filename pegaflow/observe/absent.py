"""Why a part of the view has nothing to show: a sentence each, instead of an empty box."""

from typing import Final

PEERS: Final = "no peers: this daemon serves one host, its remote tier is not there yet"
NUMA: Final = "no counts by NUMA node: the kernel does not tell where the pool's pages lie"
REMOTE_TIER: Final = "no remote tier"
NO_SSD: Final = "no ssd tier: `pegaflow serve --ssd PATH=SIZE` gives one"
