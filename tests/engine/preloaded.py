"""A C library that ``LD_PRELOAD`` puts into a daemon, and the words by which a test steers it."""

import mmap
import os
import subprocess
from pathlib import Path
from typing import Final


class Preloaded:
    """The library of ``source``, built in ``directory``.

    It finds the file of its words, which begin as ``words``, in the environment under its own
    name in capitals.
    """

    def __init__(self, source: Path, directory: Path, words: bytes) -> None:
        library = directory / f"{source.stem}.so"
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library, source, "-ldl"],
            check=True,
        )
        file = directory / f"{source.stem}.words"
        file.write_bytes(words)
        self.environment: Final = {"LD_PRELOAD": str(library), source.stem.upper(): str(file)}
        descriptor = os.open(file, os.O_RDWR)
        self.words: Final = mmap.mmap(descriptor, len(words))
        os.close(descriptor)
