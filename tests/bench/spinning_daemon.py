"""``pegaflow`` with a Python thread beside it that never lets the GIL rest."""

import threading

from pegaflow.cli.main import main


def _spin() -> None:
    while True:
        pass


if __name__ == "__main__":
    threading.Thread(target=_spin, daemon=True).start()
    main()
