"""The commands of the README's section on the ssd tier, one after the other."""

import re
import shlex
from pathlib import Path

from tests.cli.installed import Host

README = Path(__file__).resolve().parents[2] / "README.md"


def commands(section: str) -> list[list[str]]:
    """The commands in the code block of a section."""
    text = README.read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    (block,) = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    return [shlex.split(line, comments=True) for line in block.splitlines()]


def test_the_ssd_tier_s_commands_work_as_written(host: Host) -> None:
    for disk in ("nvme0", "nvme1"):
        (host.directory / disk).mkdir()
    for program, *words in commands("SSD tier"):
        assert program == "pegaflow"
        # Only the disks differ.
        args = [
            word.replace("/mnt", str(host.directory)).replace("500GiB", "64MiB") for word in words
        ]
        done = host.run(*args)
        assert (done.returncode, done.stderr) == (0, ""), args
