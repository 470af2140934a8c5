"""A clock that stands still until a test moves it."""


class Clock:
    """Seconds since 1970."""

    def __init__(self, at: float = 1_700_000_000.0) -> None:
        self.at = at

    def __call__(self) -> float:
        return self.at
