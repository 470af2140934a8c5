"""What a cache would be worth, from a recorded trace and a model's shape."""

from pegaflow.planning.model import BytesPerToken, bytes_per_token
from pegaflow.planning.plan import Plan, Point, Pools, make_plan
from pegaflow.planning.readers import ReadOptions, read_trace
from pegaflow.planning.trace import Trace

__all__ = [
    "BytesPerToken",
    "Plan",
    "Point",
    "Pools",
    "ReadOptions",
    "Trace",
    "bytes_per_token",
    "make_plan",
    "read_trace",
]
