"""``pegaflow doctor``: looks at the machine, the daemon and vLLM, and says what to do.

One module a check; ``examination`` has them in order.
"""
