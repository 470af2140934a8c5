"""The ``pegaflow`` command: one module per command."""
