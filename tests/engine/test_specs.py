"""Layers are known by what they are, not by the exact type of their description."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.engine.vllm_install import VllmInstall

pytestmark = pytest.mark.engine


def test_subclasses_and_uniform_groups_are_known(install: VllmInstall) -> None:
    done = subprocess.run(
        [str(install.python), str(Path(__file__).with_name("specs.py"))],
        env=install.environment(Path("unused")),
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    )

    assert json.loads(done.stdout.splitlines()[-1]) == {
        "plain": [["one", "FullAttentionSpec", True]],
        "subclass": [["one", "_Later", True]],
        "uniform": [["a", "FullAttentionSpec", True], ["b", "_Later", True]],
    }
