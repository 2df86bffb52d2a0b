"""Sparklines of the list of connectors, and the few points that they are drawn from."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from connect.herder.last_hour import EVERY_S, SPARKLINE_EVERY_S, SPARKLINE_POINTS, LastHour, TaskTotals
from connect.herder.model import ConnectorState
from connect.storage import ConnectorStatus, State, TaskStatus
from rest.forwarding import Forwarding
from rest.ui.sparklines import HEIGHT, WIDTH, path, sparklines

from .conftest import Client
from .fake_herder import FakeHerder

EVERY_MS = int(SPARKLINE_EVERY_S * 1000)
NOW = 1_700_000_000.0


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time for whoever answers: no interval ends while a test runs."""
    monkeypatch.setattr("rest.timeseries.time", SimpleNamespace(time=lambda: NOW))


def filled(rates: list[float], lag: float = 0) -> LastHour:
    """As if one task of connector x had had these rates, one for each interval, the last one now."""
    looks = round(SPARKLINE_EVERY_S / EVERY_S)
    now, done = [0.0], [0.0]
    end = (NOW // SPARKLINE_EVERY_S + 1) * SPARKLINE_EVERY_S
    began = end - len(rates) * SPARKLINE_EVERY_S
    totals: dict[tuple[str, int], TaskTotals] = {}
    hour = LastHour(lambda: totals, lambda: now[0], lambda: began + now[0])
    for rate in rates:
        for _ in range(looks):
            now[0] += EVERY_S
            done[0] += rate * EVERY_S
            totals["x", 0] = TaskTotals(1, done[0], 0, lag, 0, 0)
            hour.look()
    return hour


def line(client: Client, query: str = "") -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/connectors?expand=timeseries{query}").json()["x"]["timeseries"]
    return found


def test_the_list_has_the_hour_of_each_connector_in_30_points(client: Client, herder: FakeHerder) -> None:
    herder.configs = {"x": {"name": "x"}, "idle": {"name": "idle"}}
    herder.measured.hour = filled([0, 1.239, 5], lag=7)
    found = line(client, "&expand=info")
    assert found["every_ms"] == EVERY_MS
    assert 0 < found["until"] - NOW * 1000 <= EVERY_MS
    assert found["records_per_second"] == [None] * (SPARKLINE_POINTS - 3) + [0, 1.24, 5]
    assert found["lag"] == [None] * (SPARKLINE_POINTS - 3) + [7, 7, 7]
    idle = client.get("/connectors?expand=timeseries").json()["idle"]
    assert idle == {"timeseries": {"every_ms": EVERY_MS, "until": found["until"]}}


def test_what_is_all_zero_is_left_out(client: Client, herder: FakeHerder) -> None:
    herder.configs["x"] = {"name": "x"}
    herder.measured.hour = filled([0, 0])
    assert line(client).keys() == {"every_ms", "until"}
    assert "<svg" not in client.get("/ui/connectors").text


def test_the_other_workers_are_asked_once_for_all_and_added_up(
    client: Client, herder: FakeHerder, monkeypatch: pytest.MonkeyPatch
) -> None:
    herder.configs = {"x": {"name": "x"}, "y": {"name": "y"}}
    herder.measured.hour = filled([1, 2, 3])
    others = [State.RUNNING, "there:1"], [State.RUNNING, "silent:1"]
    herder.status = lambda name: ConnectorState(  # type: ignore[method-assign]
        name,
        ConnectorStatus(name, State.RUNNING, "here:1"),
        [TaskStatus(name, number, state, worker) for number, (state, worker) in enumerate(others)],  # type: ignore[arg-type]
        "sink",
    )
    asked = []
    until = line(client, "&forward=false")["until"]

    async def ask(self: Forwarding, request: Any, worker: str, path: str, seconds: float) -> bytes:
        asked.append((worker, path))
        if worker == "silent:1":
            raise TimeoutError
        # Its clock is an interval behind, and its list shorter.
        theirs = f'{{"every_ms":{EVERY_MS},"until":{until - EVERY_MS},"records_per_second":[null,10,20],"lag":[4,5,6]}}'
        return f'{{"x":{{"timeseries":{theirs}}}}}'.encode()

    monkeypatch.setattr(Forwarding, "ask", ask)
    found = line(client)
    assert sorted(asked) == [(one, "/connectors?expand=timeseries&forward=false") for one in ("silent:1", "there:1")]
    assert found["records_per_second"][-5:] == [None, None, 11, 22, 3]
    assert found["lag"][-5:] == [None, 4, 5, 6, 0]
    assert [one["worker_id"] for one in found["unreachable"]] == ["silent:1"]


@pytest.mark.parametrize(
    ("values", "drawn"),
    [
        ([], ""),
        ([None, None], ""),
        ([0, 0, None], ""),
        ([0, 10], f"M{WIDTH - 2} 15L {WIDTH} 1"),
        ([10, 5, 0], f"M{WIDTH - 4} 1L {WIDTH - 2} 8 {WIDTH} 15"),
        ([7, 7, 7, 7], f"M{WIDTH - 6} 1L {WIDTH} 1"),  # what lies between is left out
        ([1, 0, 0, 0, 1], f"M{WIDTH - 8} 1L {WIDTH - 6} 15 {WIDTH - 2} 15 {WIDTH} 1"),
        ([1, None, 1, None, 0.5, 1], f"M{WIDTH - 10} 1h1 M{WIDTH - 6} 1h1 M{WIDTH - 2} 8L {WIDTH} 1"),
    ],
)
def test_a_path_is_a_few_whole_numbers(values: list[float | None], drawn: str) -> None:
    assert path(values) == drawn


def test_a_path_stays_in_its_drawing() -> None:
    drawn = path([None, *(number % 7 * 1e9 + 0.1 for number in range(SPARKLINE_POINTS - 1))])
    numbers = [*map(int, re.findall(r"\d+", drawn))]
    assert min(numbers[::2]) >= 0
    assert max(numbers[::2]) == WIDTH
    assert min(numbers[1::2]) >= 1
    assert max(numbers[1::2]) <= HEIGHT - 1


def test_who_does_not_see_a_sparkline_has_the_number_beside_it(client: Client, herder: FakeHerder) -> None:
    herder.configs["x"] = {"name": "x"}
    herder.measured.hour = filled([1, 2, 3], lag=5)
    page = client.get("/ui/connectors").text
    drawings = re.findall(
        r'<td class="number"><svg class="spark" [^>]*aria-hidden="true"><path d="M[^"]+"/></svg> ', page
    )
    assert len(drawings) == 2


def test_a_java_worker_has_no_sparklines() -> None:
    assert sparklines({"status": {}, "info": {}}) == ("", "")
