"""Charts of more than an hour, of a real Prometheus that scrapes a real worker and remembers a month of it."""

from __future__ import annotations

import asyncio
import statistics
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NoReturn
from urllib.parse import quote

import pytest
from prometheus_client.parser import text_string_to_metric_families

from connect.http import basic
from rest.errors import ApiError
from rest.prometheus import EVERY_S, Prometheus
from tests.servers.prometheus import PASSWORD, USER, PrometheusServer, PrometheusUnavailable

from .conftest import Worker, Workers

LOGIN: Final = f"{USER}:{PASSWORD}"
#: As PromQL must not read it.
SOURCE: Final = 'orders "a\\b" {x=~".*"} or up #é'
MINUTE, HOUR, DAY = 60, 3600, 24 * 3600
#: When the connectors moved to another worker, before now.
MOVED: Final = 12 * HOUR
#: When the lag had its peak.
PEAK: Final = 3 * HOUR
#: By the name of a metric its value so many seconds before now: what grows by the second, and what stays.
PAST: Final[Mapping[str, Callable[[int], float]]] = {
    "kafka_connect_source_task_metrics_source_record_write_total": lambda ago: 40 * (40 * DAY - ago),
    "kafka_connect_sink_task_metrics_sink_record_send_total": lambda ago: 20 * (40 * DAY - ago),
    "kafka_connect_task_error_metrics_total_record_errors": lambda ago: 0.5 * (40 * DAY - ago),
    "connect_sink_put_seconds_sum": lambda ago: 0.25 * 2 * (40 * DAY - ago),
    "connect_sink_put_seconds_count": lambda ago: 2 * (40 * DAY - ago),
    "connect_sink_lag_total_records": lambda ago: 5000 if abs(ago - PEAK) < MINUTE / 2 else 1000,
    "connect_source_age_max_seconds": lambda _: 2,
    "connect_sink_age_max_seconds": lambda _: 3,
    "connect_task_state": lambda _: 1,
}

Labels = tuple[tuple[str, str], ...]


@pytest.fixture(scope="module")
def prometheus(cannot_have: Callable[[str, object], NoReturn]) -> Iterator[PrometheusServer]:
    try:
        server = PrometheusServer()
    except PrometheusUnavailable as error:
        cannot_have("Prometheus", error)
    yield server
    server.close()


def exported(worker: Worker) -> set[tuple[str, Labels]]:
    """The series of its /metrics that a chart needs: names and labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{worker.port}/metrics", timeout=30) as answer:
        families = list(text_string_to_metric_families(answer.read().decode()))
    return {(one.name, tuple(one.labels.items())) for each in families for one in each.samples if one.name in PAST}


def history(series: Iterable[tuple[str, Labels]], now: int) -> str:
    """A month of these series on two workers of a pool, one after the other, and of another pool with more of all."""
    lines = []
    # A point each minute of the last days, and each ten minutes before; the scrapes of now begin a little later.
    agos = [*range(31 * DAY, 26 * HOUR, -10 * MINUTE), *range(26 * HOUR, 5 * MINUTE, -MINUTE)]
    for name, labels in sorted(series):
        for job, times in (("connect", 1), ("other", 1000)):
            for instance, mine in (("old:1", [ago for ago in agos if ago >= MOVED]), ("new:1", agos)):
                shown = {**dict(labels), "job": job, "instance": instance}
                text = ",".join(f'{key}="{_escaped(value)}"' for key, value in shown.items())
                recent = [ago for ago in mine if instance == "old:1" or ago < MOVED]
                lines += [f"{name}{{{text}}} {times * PAST[name](ago)} {now - ago}" for ago in recent]
    return "\n".join([*lines, "# EOF", ""])


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def put(worker: Worker, name: str, **config: object) -> None:
    settings = {key.replace("__", "."): str(value) for key, value in config.items()}
    status, body = worker.ask("PUT", f"/connectors/{quote(name)}/config", settings)
    assert status == 201, body


def series(worker: Worker, name: str, hours: int) -> dict[str, Any]:
    found = worker.get(f"/connectors/{quote(name)}/timeseries?hours={hours}")
    assert found["every_ms"] == EVERY_S[hours] * 1000
    assert found["longest_hours"] == 720
    assert found["unreachable"] == []
    (one,) = found["series"] or [{}]
    assert {len(values) for key, values in one.items() if key != "worker_id"} <= {hours * 3600 // EVERY_S[hours]}
    return dict(one)


def usual(values: list[float | None]) -> float:
    """Of nearly all points; what they have in common."""
    known = [value for value in values if value is not None]
    assert len(known) >= 0.95 * len(values)
    return statistics.median(known)


def test_a_month_comes_from_the_prometheus_that_scrapes_the_workers(
    workers: Workers, prometheus: PrometheusServer, topic: str
) -> None:
    worker = workers.start(
        metrics__prometheus__url=prometheus.url,
        metrics__prometheus__labels="job=connect",
        metrics__prometheus__basic__auth__user__info=LOGIN,
        metrics__lag__interval__ms="500",
    )
    put(worker, SOURCE, connector__class="Datagen", kafka__topic=topic, quickstart="orders", rate=50)
    put(worker, "archive", connector__class="FileStreamSink", topics=topic, file=worker.folder / "out")
    age = "connect_source_age_max_seconds"  # the records of this source have no time of their own
    worker.until(lambda: {name for name, _ in exported(worker)} == PAST.keys() - {age})
    known = exported(worker) | {(age, (("connector", SOURCE), ("task", "0")))}
    assert len([labels for name, labels in known if name == "connect_task_state"]) == 2  # both tasks are RUNNING
    prometheus.remember(history(known, int(time.time())))
    prometheus.scrape(f"127.0.0.1:{worker.port}")

    for hours in EVERY_S:
        source, sink = series(worker, SOURCE, hours), series(worker, "archive", hours)
        assert source["worker_id"] is None
        assert source["at"] == sorted(source["at"])
        assert -60 < time.time() - source["at"][-1] / 1000 < 60
        assert usual(source["records_per_second"]) == pytest.approx(40, rel=0.01)
        assert max(filter(None, source["records_per_second"])) < 60  # the other pool is not in it
        assert usual(source["age_ms"]) == 2000
        assert set(source["lag"]) == set(source["put_ms"]) == {None}
        assert usual(sink["records_per_second"]) == pytest.approx(20, rel=0.01)
        assert usual(sink["errors_per_second"]) == pytest.approx(0.5, rel=0.01)
        assert usual(sink["put_ms"]) == pytest.approx(250)
        assert usual(sink["age_ms"]) == 3000
        assert usual(sink["lag"]) == 1000
        assert max(filter(None, sink["lag"])) == 5000  # a peak of a minute is seen in a month
        assert usual(sink["tasks"]) == 1
    # What is scraped now is there as well.
    worker.until(lambda: (series(worker, SOURCE, 6)["records_per_second"][-1] or 0) > 1)
    worker.until(lambda: (series(worker, "archive", 6)["records_per_second"][-1] or 0) > 1)

    page = pages(worker, f"/ui/connectors/{quote(SOURCE, safe='')}")
    assert " minutes, from 0 to" in page or "<figure" not in page
    assert all(f'<a href="?hours={hours}"' in page for hours in EVERY_S)
    page = pages(worker, f"/ui/connectors/{quote(SOURCE, safe='')}?hours=168")
    assert 'aria-label="Records/s in the last week, from 0 to 50"' in page
    assert '<a href="?hours=168" aria-current="true">week</a>' in page

    prometheus.stop()
    path = "/connectors/archive/timeseries?hours=24"
    worker.until(lambda: worker.ask("GET", path)[0] == 502)  # answers are kept for some seconds
    message = f"Prometheus at {prometheus.url} cannot be reached: Connection refused."
    assert worker.ask("GET", path)[1]["message"].startswith(message)
    assert message in pages(worker, "/ui/connectors/archive?hours=24")
    assert worker.get("/connectors/archive/timeseries")["series"]  # the last hour is the workers' own
    prometheus.start()


def pages(worker: Worker, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{worker.port}{path}", timeout=30) as answer:
        return bytes(answer.read()).decode()


def test_a_login_that_it_refuses_is_said(prometheus: PrometheusServer) -> None:
    async def ask(login: str) -> object:
        return await Prometheus(prometheus.url, {}, "jmx", basic(login)).series("orders", 6)

    with pytest.raises(ApiError, match=r"refuses the worker's login \(HTTP 401\)") as caught:
        asyncio.run(ask(f"{USER}:7654321"))
    assert "7654321" not in str(caught.value)
    assert asyncio.run(ask(LOGIN)) is not None


def test_all_that_there_is_to_ask_is_promql(prometheus: PrometheusServer) -> None:
    """With names, labels and naming of all kinds Prometheus understands the question, and knows nothing."""

    async def ask(name: str, labels: Mapping[str, str], hours: int) -> object:
        return (await Prometheus(prometheus.url, labels, "short", basic(LOGIN)).series(name, hours)).series

    for name in ("a\nb", "\u2028", "'", "`", "\\", '"', "\U0001f600", "é" * 120, "${x}", "\x00"):
        for hours in EVERY_S:
            assert asyncio.run(ask(name, {"job": name}, hours)) == []
