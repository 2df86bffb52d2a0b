"""What is kept of sinks whose lag was asked for."""

from types import SimpleNamespace
from typing import Any

import pytest

from connect.herder import lag
from connect.herder.lag import LagWatch
from connect.plugins import PluginKind


class Ask:
    """Knows of no partitions."""

    def __init__(self, *_: object) -> None:
        self.group = "group"

    def read(self) -> dict[Any, Any]:
        return {}


def test_without_an_interval_connectors_that_are_gone_are_forgotten_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lag, "GroupLag", Ask)
    monkeypatch.setattr(lag, "connector_plugin", lambda *_: SimpleNamespace(kind=PluginKind.SINK))
    now = [1000.0]
    monkeypatch.setattr(lag, "time", SimpleNamespace(monotonic=lambda: now[0], time=lambda: now[0]))
    worker: Any = SimpleNamespace(
        config={"metrics.lag.interval.ms": 0},
        raw={},
        plugins=None,
        options=SimpleNamespace(flush_interval=60.0),
        connectors=SimpleNamespace(names=list, get=lambda _: None),
        statuses=SimpleNamespace(connector=lambda _: None),
    )
    monkeypatch.setattr(lag.MetricsOptions, "parse", lambda _: SimpleNamespace(lag_interval=0.0, lag_samples=10))
    watch = LagWatch(worker)
    watch.of("a", {"topics": "t"})
    now[0] += 601
    watch.of("b", {"topics": "t"})
    assert list(watch._watched) == ["b"]
