"""Kafka's figures of a task, from what it tells."""

import math

import pytest

from connect.delivery.meter import SinkMeter, SourceMeter
from connect.herder.task_figures import TaskFigures
from connect.telemetry.catalogue import BY_JAVA, KAFKA
from connect.telemetry.metrics import Registry
from connect.telemetry.windows import Span

LABELS = {"connector": "orders", "task": "0"}


def test_ratios_are_of_the_whole_life(clock) -> None:
    figures = TaskFigures("source", clock=clock)
    clock.now += 10
    figures.entered("running")
    clock.now += 60
    figures.entered("paused")
    clock.now += 30
    task = figures.figures()["connector-task-metrics"]
    assert (task["running-ratio"], task["pause-ratio"], task["status"]) == (0.6, 0.3, "paused")


@pytest.mark.parametrize(
    ("kind", "group", "meter"),
    [("source", "source-task-metrics", SourceMeter), ("sink", "sink-task-metrics", SinkMeter)],
)
def test_every_figure_that_kafka_has_is_there_and_no_other(clock, kind: str, group: str, meter) -> None:
    registry = Registry()
    meter(registry, LABELS)
    figures = TaskFigures(kind, clock=clock)
    figures.take(registry.changed())
    found = figures.figures()
    texts = {metric.name for metric in KAFKA if metric.group == "connector-task-metrics" and metric.kind == "text"}
    for one in (group, "connector-task-metrics", "task-error-metrics"):
        expected = {metric.name for metric in KAFKA if metric.group == one} - (texts - {"status"})
        expected = {name for name in expected if not name.startswith("transaction-size")}
        assert found[one].keys() == expected
    assert found.keys() == {group, "connector-task-metrics", "task-error-metrics"}


def test_times_sizes_and_outcomes_are_of_the_last_samples(clock) -> None:
    registry, span = Registry(), Span(30, 2)
    meter, figures = SinkMeter(registry, LABELS), TaskFigures("sink", span, clock)
    meter.put(10, 0.002)
    meter.put(30, 0.004)
    meter.committed("success", 0.01)
    meter.committed("failure", 0.03)
    meter.commit_skipped()
    figures.take(registry.changed())
    found = figures.figures()
    sink, task = found["sink-task-metrics"], found["connector-task-metrics"]
    assert sink["put-batch-max-time-ms"] == pytest.approx(4)
    assert sink["put-batch-avg-time-ms"] == pytest.approx(3)
    assert sink["sink-record-send-total"] == 40
    assert sink["sink-record-send-rate"] == pytest.approx(40 / 30)
    assert (sink["offset-commit-seq-no"], sink["offset-commit-completion-total"]) == (2, 1)
    assert sink["offset-commit-skip-total"] == 1
    assert (task["offset-commit-success-percentage"], task["offset-commit-failure-percentage"]) == (0.5, 0.5)
    assert task["offset-commit-max-time-ms"] == pytest.approx(30)
    clock.now += 61  # and the totals stay
    found = figures.figures()
    assert math.isnan(found["sink-task-metrics"]["put-batch-max-time-ms"])
    assert found["sink-task-metrics"]["sink-record-send-rate"] == 0
    assert found["sink-task-metrics"]["sink-record-send-total"] == 40


def test_transactions_are_there_once_there_was_one(clock) -> None:
    registry = Registry()
    meter, figures = SourceMeter(registry, LABELS), TaskFigures("source", clock=clock)
    figures.take(registry.changed())
    assert "transaction-size-max" not in figures.figures()["source-task-metrics"]
    meter.transaction(3)
    meter.transaction(5)
    figures.take(registry.changed())
    source = figures.figures()["source-task-metrics"]
    assert [source[f"transaction-size-{which}"] for which in ("min", "avg", "max")] == [3, 4, 5]


def test_java_s_own_figures_are_taken_as_they_are(clock) -> None:
    registry = Registry()
    for group, figure, value in (
        ("source-task-metrics", "source-record-poll-total", 1000.0),
        ("connector-task-metrics", "batch-size-max", 500.0),
    ):
        registry.gauge(BY_JAVA, group=group, figure=figure, **LABELS).set(value)
    figures = TaskFigures("source", clock=clock)
    figures.entered("running")
    figures.take(registry.changed())
    found = figures.figures()
    assert found["source-task-metrics"]["source-record-poll-total"] == 1000
    assert found["source-task-metrics"]["source-record-write-total"] == 0
    assert found["connector-task-metrics"]["batch-size-max"] == 500
    assert found["connector-task-metrics"]["status"] == "running"
