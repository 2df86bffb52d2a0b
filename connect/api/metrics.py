"""A plug-in's own metrics (KIP-877)."""

from __future__ import annotations

from typing import Protocol


class PluginMetrics(Protocol):
    """Metrics of one plug-in instance. They appear under the connector's and task's labels, sent once a second.

    Names are Prometheus's: snake case, with the unit, counters ending in `_total`.
    """

    def count(self, name: str, amount: float = 1, **labels: str) -> None:
        """Add to a counter."""

    def gauge(self, name: str, value: float, **labels: str) -> None:
        """Set a value that goes up and down."""

    def observe(self, name: str, value: float, **labels: str) -> None:
        """Add one measurement to a histogram, such as seconds that a request took."""


class EngineMetrics(PluginMetrics, Protocol):
    """Metrics of a connector whose plug-ins an engine runs in processes of its own, such as Spark's executors."""

    def add(self, measured: str) -> None:
        """Add what plug-ins measured in another process.

        Args:
            measured: `connect.telemetry.Registry.text` of a registry there, which this is called with once.

        Raises:
            ValueError: a name is that of a metric of another kind here.
        """
