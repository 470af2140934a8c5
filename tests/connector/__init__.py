"""The vLLM connector without vLLM: pure parts, and both halves against a simulated engine."""
