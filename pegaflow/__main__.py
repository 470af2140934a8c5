"""``python -m pegaflow`` is the command ``pegaflow``."""

from pegaflow.cli.main import main

main()
