"""The engine suite: real vLLM on the CPU with the daemon and the connector beside it."""
