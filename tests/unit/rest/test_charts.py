"""Charts of a connector's last hour, and the answer that they are drawn from."""

from __future__ import annotations

from typing import Any

import pytest

from connect.herder.last_hour import EVERY_S, LastHour, TaskTotals
from connect.herder.model import ConnectorState
from connect.storage import ConnectorStatus, State, TaskStatus
from rest.ui.charts import HEIGHT, WIDTH, charts
from rest.ui.rendering import duration

EVERY = 10_000
NEWEST = 1_700_000_000_000


def answer(*series: dict[str, Any]) -> dict[str, Any]:
    """Of /timeseries: each worker's values, up to the newest interval."""
    found = []
    for values in series:
        count = len(next(iter(values.values())))
        nothing: dict[str, list[Any]] = dict.fromkeys(("lag", "put_ms", "age_ms"), [None] * count)
        zero = dict.fromkeys(("records_per_second", "errors_per_second"), [0.0] * count)
        at = [NEWEST - EVERY * (count - 1 - number) for number in range(count)]
        found.append({"worker_id": "w", "at": at, "tasks": [1] * count, **nothing, **zero, **values})
    return {"every_ms": EVERY, "series": found, "unreachable": []}


def points(line: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (point.split(",") for point in line.split())]


def test_the_workers_are_added_up_and_the_newest_is_at_the_right() -> None:
    (chart,) = charts(answer({"records_per_second": [0.0, 10.0, 30.0]}, {"records_per_second": [20.0, 10.0]}))
    assert (chart.title, chart.now, chart.highest, chart.top) == ("Records/s", "40", "40", "50")
    (line,) = chart.lines
    step = WIDTH * EVERY / 300_000  # what is that young fills five minutes
    assert points(line) == [
        pytest.approx((WIDTH - 2 * step, HEIGHT), abs=0.1),
        pytest.approx((WIDTH - step, HEIGHT * 0.4), abs=0.1),
        pytest.approx((WIDTH, HEIGHT * 0.2), abs=0.1),
    ]


def test_of_the_slowest_there_is_one_line_and_only_what_is_known_is_drawn() -> None:
    found = charts(answer({"put_ms": [None, 5.0], "lag": [0.0, 0.0]}, {"put_ms": [7.0, 1500.0]}))
    assert [(one.title, one.now, one.highest) for one in found] == [
        ("Records/s", "0", "0"),
        ("Lag", "0", "0"),
        ("Duration of a put", "1.5 s", "1.5 s"),
    ]
    assert charts(answer()) == []


@pytest.mark.parametrize(
    ("minutes", "period", "since"),
    [(4, "5 minutes", "5 min ago"), (6, "20 minutes", "20 min ago"), (21, "hour", "an hour ago")],
)
def test_a_chart_goes_back_as_far_as_something_is_known(minutes: int, period: str, since: str) -> None:
    (chart,) = charts(answer({"records_per_second": [1.0] * (minutes * 6 + 1)}))
    assert (chart.period, chart.since) == (period, since)
    assert 0 <= points(chart.lines[0])[0][0] < WIDTH * 0.75


def test_a_gap_is_no_line() -> None:
    gap: list[Any] = [1.0, 1.0, None, None, None, 1.0]
    lag = next(one for one in charts(answer({"lag": gap})) if one.title == "Lag")
    assert [len(points(line)) for line in lag.lines] == [2, 2]  # a single point is a short line


def test_more_than_an_hour_goes_up_to_now_though_the_newest_is_not_known() -> None:
    every, count = 300_000, 288
    grid = answer({"records_per_second": [5.0] * 144 + [None] * 144}) | {"every_ms": every}
    grid["series"][0]["at"] = [NEWEST - every * (count - 1 - number) for number in range(count)]
    (chart,) = charts(grid, 24)
    assert (chart.now, chart.highest, chart.period, chart.since) == ("-", "5", "day", "a day ago")
    (line,) = chart.lines
    assert points(line)[0] == pytest.approx((WIDTH / count, 0), abs=0.1)
    assert points(line)[-1] == pytest.approx((WIDTH / 2, 0), abs=0.1)


@pytest.mark.parametrize("offset", [0, 15_000, 30_000, 45_000])
def test_each_point_has_a_place_of_its_own(offset: int) -> None:
    """Also where times lie in the middle between two intervals."""
    grid = answer({"records_per_second": [1.0] * 360}) | {"every_ms": 60_000}
    grid["series"][0]["at"] = [NEWEST // 60_000 * 60_000 + offset + 60_000 * number for number in range(360)]
    (chart,) = charts(grid, 6)
    assert [len(points(line)) for line in chart.lines] == [360]
    assert (chart.period, chart.since) == ("6 hours", "6 hours ago")


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(None, "-"), (0, "0 ms"), (2.34, "2.3 ms"), (250, "250 ms"), (1500, "1.5 s"), (600_000, "10 min")],
)
def test_durations_are_short(milliseconds: float | None, text: str) -> None:
    assert duration(milliseconds) == text


def test_the_page_and_the_interface_have_what_the_worker_kept(client, herder) -> None:
    herder.configs["x"] = {"name": "x", "connector.class": "Known"}
    moment = [0.0]
    totals = {("x", 0): TaskTotals(1, 100, 0, 7, 0.25, float("nan"))}
    hour = herder.measured.hour = LastHour(lambda: totals, lambda: moment[0], lambda: NEWEST / 1000)
    nothing = client.get("/connectors/x/timeseries").json()
    assert nothing == {"every_ms": EVERY, "series": [], "unreachable": [], "longest_hours": 1}
    assert "<svg" not in client.get("/ui/connectors/x").text
    moment[0] = EVERY_S
    hour.look()
    found = client.get("/connectors/x/timeseries").json()
    assert found["series"] == [
        {
            "worker_id": "here:1",
            "at": [NEWEST],
            "tasks": [1],
            "records_per_second": [10.0],
            "errors_per_second": [0.0],
            "lag": [7.0],
            "put_ms": [250.0],
            "age_ms": [None],
        }
    ]
    page = client.get("/ui/connectors/x").text
    assert page.count("<svg") == 3
    assert 'aria-label="Lag in the last 5 minutes, from 0 to 10"' in page
    assert client.get("/connectors/y/timeseries").status_code == 404


def test_a_worker_that_does_not_answer_is_named(client, herder) -> None:
    herder.configs["x"] = {"name": "x"}
    tasks = [TaskStatus("x", 0, State.RUNNING, "127.0.0.1:1")]
    herder.status = lambda name: ConnectorState(name, ConnectorStatus(name, State.RUNNING, "here:1"), tasks, "sink")
    (unreachable,) = client.get("/connectors/x/timeseries").json()["unreachable"]
    assert unreachable["worker_id"] == "127.0.0.1:1"
    assert client.get("/connectors/x/timeseries?forward=false").json()["unreachable"] == []
