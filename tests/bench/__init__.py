"""Measures what issue and README promise; ``python -m tests.bench`` writes the rows."""
