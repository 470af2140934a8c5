"""The half of the connector that runs beside vLLM's scheduler: it decides what to move."""
