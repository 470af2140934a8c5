"""The half of the connector that runs in each worker: it moves blocks."""
