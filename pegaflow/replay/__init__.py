"""Replay of traces against a daemon, with engines that save and load real bytes."""

from pegaflow.replay.report import ReplayReport
from pegaflow.replay.run import ReplayPlan, replay

__all__ = ["ReplayPlan", "ReplayReport", "replay"]
