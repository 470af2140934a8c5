"""Examples for the help of commands whose help has none of its own."""

from collections.abc import Mapping
from typing import Any, Final

EXAMPLES: Final[Mapping[str, str]] = {
    "": """
The daemon, an engine that uses it, and what that brings:
  pegaflow serve --detach --pool-size 30gb
  pegaflow vllm -- some/model --port 8000
  pegaflow status
What is in the way, and how large a cache to buy:
  pegaflow doctor
  pegaflow plan --trace requests.jsonl --model some/model/config.json
""",
    "serve": """
A daemon with 30 GiB of memory that outlives this terminal:
  pegaflow serve --detach --pool-size 30gb
With a disk behind it:
  pegaflow serve --pool-size 30gb --ssd /mnt/nvme0/pegaflow=500GiB
""",
    "stop": """
  pegaflow stop
Free the memory too:
  pegaflow stop --purge
""",
    "restart": """
After an update:
  pegaflow restart
""",
    "status": """
  pegaflow status
The daemons that ~/.config/pegaflow/top.toml names, or others:
  pegaflow status --all
  pegaflow status --url gpu-1:9091 --url gpu-2:9091
The share of blocks that were hits, for scripts:
  pegaflow status --json | jq '1 - .blocks.miss / .blocks.requested'
""",
    "vllm": """
  pegaflow vllm -- some/model --port 8000
Only show what would be run:
  pegaflow vllm --print -- some/model --port 8000
With a daemon of its own, and the vLLM of another interpreter:
  pegaflow vllm --with-daemon --python /opt/vllm/bin/python -- some/model
""",
    "warm": """
  pegaflow warm --from ssd
At most half of the pool, what is asked for most:
  pegaflow warm --limit 50% --order frequent
""",
    "plan": """
What caches of some sizes would hit of a trace:
  pegaflow plan --trace conversation.jsonl --capacity-blocks 10000 --capacity-blocks 50000
In bytes of a model, as a picture:
  pegaflow plan --trace vllm.log --model config.json --capacity 500GiB --plot plan.svg
What other pools would have hit of what the running daemon was asked:
  pegaflow plan --live
""",
    "version": """
  pegaflow version --json
""",
    "trace record": """
For a day of what is asked for, and then plan with it:
  pegaflow trace record /var/lib/pegaflow/lookups --size 1GiB
  pegaflow trace record --stop
  pegaflow plan --trace /var/lib/pegaflow/lookups
""",
    "trace info": """
  pegaflow trace info conversation.jsonl
""",
    "trace convert": """
  pegaflow trace convert vllm.log trace.jsonl
""",
    "trace replay": """
Ten times as fast as it was, by eight engines:
  pegaflow trace replay trace.jsonl --speed 10 --engines 8
""",
    "tier list": """
  pegaflow tier list
The paths that are not online:
  pegaflow tier list --json | jq '.tiers[] | select(.reason)'
""",
    "tier resize": """
  pegaflow tier resize ssd 1TiB --path /mnt/nvme0/pegaflow
""",
    "tier flush": """
Before the machine goes down:
  pegaflow tier flush memory
""",
    "tier drain": """
Before a disk is taken out:
  pegaflow tier drain ssd --path /mnt/nvme0/pegaflow
""",
    "tier evict": """
  pegaflow tier evict memory 50%
All of a disk, without asking:
  pegaflow tier evict ssd 100% --path /mnt/nvme0/pegaflow --yes
""",
    "tier verify": """
  pegaflow tier verify ssd
""",
    "tier add-path": """
  pegaflow tier add-path /mnt/nvme1/pegaflow=500GiB
""",
    "tier remove-path": """
  pegaflow tier remove-path /mnt/nvme1/pegaflow --delete-files
""",
    "namespace list": """
  pegaflow namespace list
""",
    "namespace evict": """
  pegaflow namespace evict 3f2a
""",
    "namespace pin": """
  pegaflow namespace pin 3f2a
""",
    "namespace unpin": """
  pegaflow namespace unpin 3f2a
""",
    "namespace quota": """
  pegaflow namespace quota 3f2a 25%
  pegaflow namespace quota 3f2a none
""",
    "config show": """
  pegaflow config show
  PEGAFLOW_POOL_SIZE=1gb pegaflow config show --json
""",
    "config check": """
  pegaflow config check --config /etc/pegaflow/config.toml
""",
    "config init": """
  pegaflow config init
  pegaflow config init ./pegaflow.toml --force
""",
    "bench transfer": """
  pegaflow bench transfer
  pegaflow bench transfer --device cpu --quick --json
""",
    "bench ttft": """
  pegaflow bench ttft --model some/model --python /opt/vllm/bin/python
""",
    "bench restart": """
  pegaflow bench restart --quick
""",
    "bench sharing": """
  pegaflow bench sharing --engines 4
""",
}
"""By the words of the command (none: of all); lines in between say what an example does."""


def add_examples(command: Any, words: tuple[str, ...] = ()) -> None:
    """Put each example at the end of the help of its command, and of those below ``command``."""
    for name, below in getattr(command, "commands", {}).items():
        add_examples(below, (*words, name))
    if example := EXAMPLES.get(" ".join(words)):
        command.epilog = f"\b\nExamples:\n{example.strip(chr(10))}"
