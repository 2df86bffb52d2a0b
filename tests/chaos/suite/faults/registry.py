"""All faults, in the order of their modules."""

from __future__ import annotations

from . import brokers, machine, network, processes, requests, topics  # noqa: F401  each adds its own
from .fault import FAULTS, Fault, possible

__all__ = ["FAULTS", "Fault", "possible"]
