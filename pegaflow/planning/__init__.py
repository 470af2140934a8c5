"""What a cache would be worth, from a recorded trace and a model's shape."""

from pegaflow.planning.lines import ReadOptions
from pegaflow.planning.model import BytesPerToken, bytes_per_token
from pegaflow.planning.plan import Plan, Point, Pools, TierPoint, Worth, make_plan
from pegaflow.planning.rates import Loading, Rates, break_even_bytes_s, loadings, measured
from pegaflow.planning.readers import open_trace, read_trace
from pegaflow.planning.trace import Trace

__all__ = [
    "BytesPerToken",
    "Loading",
    "Plan",
    "Point",
    "Pools",
    "Rates",
    "ReadOptions",
    "TierPoint",
    "Trace",
    "Worth",
    "break_even_bytes_s",
    "bytes_per_token",
    "loadings",
    "make_plan",
    "measured",
    "open_trace",
    "read_trace",
]
