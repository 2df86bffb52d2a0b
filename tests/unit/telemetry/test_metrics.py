import sys
import threading

import msgspec
import pytest

from connect.telemetry import Buckets, Rate, Registry, Sample


@pytest.fixture
def registry() -> Registry:
    return Registry()


def values(registry: Registry) -> dict[tuple[str, tuple[str, ...]], float | Buckets]:
    return {(one.name, tuple(sorted(one.labels.values()))): one.value for one in registry.snapshot()}


def test_one_name_and_labels_are_one_series_in_whatever_order_they_are_given(registry: Registry) -> None:
    registry.counter("records_total", connector="a", task="0").add(2)
    registry.counter("records_total", task="0", connector="a").add()
    registry.counter("records_total", connector="a", task="1").add(5)
    assert values(registry) == {("records_total", ("0", "a")): 3, ("records_total", ("1", "a")): 5}


def test_a_histogram_counts_each_measurement_in_one_bucket_ends_included(registry: Registry) -> None:
    histogram = registry.histogram("put_seconds", (0.1, 1))
    for value in (0.05, 0.1, 0.5, 2, 3):
        histogram.observe(value)
    assert histogram.value == Buckets((0.1, 1), (2, 1, 2), pytest.approx(5.65), 0.05, 3)


def test_what_task_processes_report_is_kept_after_they_died_until_forgotten(registry: Registry) -> None:
    task = Registry()
    task.counter("records_total", task="0").add(7)
    registry.merge("orders-0", task.snapshot())
    task.counter("records_total", task="0").add(1)
    registry.merge("orders-0", task.snapshot())
    assert values(registry) == {("records_total", ("0",)): 8}
    registry.forget("orders-0")
    assert values(registry) == {}


def test_what_is_about_something_that_is_gone_is_dropped(registry: Registry) -> None:
    for connector, reason in (("a", "failure"), ("a", "request"), ("b", "failure")):
        registry.counter("restarts_total", connector=connector, reason=reason).add()
    registry.gauge("tasks").set(1)
    registry.remove(connector="a")
    assert [(one.name, one.labels) for one in registry.snapshot()] == [
        ("restarts_total", {"connector": "b", "reason": "failure"}),
        ("tasks", {}),
    ]
    assert registry.counter("restarts_total", connector="a", reason="failure").value == 0


def test_equal_series_of_several_processes_are_summed_except_gauges(registry: Registry) -> None:
    for source, amount in (("a", 1), ("b", 2)):
        one = Registry()
        one.counter("records_total").add(amount)
        one.gauge("lag_records").set(amount)
        one.histogram("put_seconds", (1,)).observe(amount)
        registry.merge(source, one.snapshot())
    assert values(registry) == {
        ("records_total", ()): 3,
        ("lag_records", ()): 2,
        ("put_seconds", ()): Buckets((1,), (1, 1), 3.0),
    }


def test_what_processes_that_have_ended_measured_is_added_up(registry: Registry) -> None:
    metrics = registry.labelled(connector="orders", task="0")
    metrics.count("rows_total", 1)
    metrics.observe("put_seconds", 30)
    for amount in (2, 3):
        one = Registry()
        executor = one.labelled()
        executor.count("rows_total", amount, connector="other")
        executor.count("rows_total", amount, table="t")
        executor.gauge("lag_records", amount)
        for seconds in (amount / 100, 0.5):
            executor.observe("put_seconds", seconds)
        metrics.add(one.text())
    metrics.add(Registry().text())
    told = values(registry)
    histogram = told.pop(("put_seconds", ("0", "orders")))
    assert told == {
        ("rows_total", ("0", "orders")): 6,
        ("rows_total", ("0", "orders", "t")): 5,
        ("lag_records", ("0", "orders")): 3,
    }
    assert isinstance(histogram, Buckets)
    assert histogram.seen == 5
    assert (histogram.sum, histogram.smallest, histogram.largest) == (pytest.approx(31.05), 0.02, 30)
    assert {one.name for one in registry.changed()} == {"rows_total", "lag_records", "put_seconds"}


def test_measurements_of_other_buckets_are_refused(registry: Registry) -> None:
    other = Registry()
    other.histogram("put_seconds", (1, 2)).observe(1)
    registry.labelled().observe("put_seconds", 1)
    with pytest.raises(ValueError, match=r"Buckets that end at \(1, 2\) cannot be added"):
        registry.labelled().add(other.text())
    other = Registry()
    other.labelled().gauge("rows", 1)
    registry.labelled().observe("rows", 1)
    with pytest.raises(ValueError, match="rows is a histogram, not a gauge"):
        registry.labelled().add(other.text())


def test_a_snapshot_travels_through_msgspec(registry: Registry) -> None:
    registry.counter("records_total", task="0").add(2)
    registry.histogram("put_seconds", (1,)).observe(0.5)
    snapshot = registry.snapshot()
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(snapshot), type=list[Sample]) == snapshot


def test_a_plug_in_s_labels_do_not_replace_its_connector_s(registry: Registry) -> None:
    metrics = registry.labelled(connector="orders")
    metrics.count("rows_total", 2, connector="other", table="t")
    metrics.gauge("open_connections", 3)
    metrics.observe("flush_seconds", 0.2)
    assert values(registry)["rows_total", ("orders", "t")] == 2
    assert values(registry)["open_connections", ("orders",)] == 3


def test_only_what_changed_is_told_again(registry: Registry) -> None:
    counter, gauge = registry.counter("records_total"), registry.gauge("lag_records")
    histogram = registry.histogram("put_seconds", (1,))
    assert {one.name for one in registry.changed()} == {"records_total", "lag_records", "put_seconds"}
    assert registry.changed() == []
    gauge.set(0)  # as it was
    counter.reach(0)
    assert registry.changed() == []
    counter.add()
    gauge.set(2)
    histogram.observe(0.5)
    histogram.observe(3)
    assert {one.name: one.value for one in registry.changed()} == {
        "records_total": 1,
        "lag_records": 2,
        "put_seconds": Buckets((1,), (1, 1), 3.5, 0.5, 3),
    }
    histogram.observe(0.25)  # the extremes are of what came since
    assert [one.value for one in registry.changed()] == [Buckets((1,), (2, 1), 3.75, 0.25, 0.25)]


def test_what_a_process_tells_later_adds_to_what_it_told_before(registry: Registry) -> None:
    task = Registry()
    task.counter("records_total").add(7)
    task.gauge("lag_records").set(1)
    registry.merge("orders-0", task.changed())
    task.gauge("lag_records").set(2)
    registry.merge("orders-0", task.changed())
    assert values(registry) == {("records_total", ()): 7, ("lag_records", ()): 2}


@pytest.mark.parametrize("label", ["le", "__name__", "topic-name", ""])
def test_a_label_that_prometheus_does_not_take_is_refused(registry: Registry, label: str) -> None:
    with pytest.raises(ValueError, match="cannot have a label"):
        registry.gauge("size_bytes", **{label: "x"})


@pytest.mark.parametrize("name", ["", "Records_total", "records-total", "1_total", "records"])
def test_a_counter_s_name_is_checked(registry: Registry, name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        registry.counter(name)


def test_one_name_has_one_kind(registry: Registry) -> None:
    registry.gauge("size_bytes")
    with pytest.raises(ValueError, match="size_bytes is a gauge, not a histogram"):
        registry.histogram("size_bytes")
    with pytest.raises(ValueError, match="size_bytes is a gauge, not a histogram"):
        registry.histogram("size_bytes", (1,), table="t")


def test_threads_lose_no_count(registry: Registry) -> None:
    def work() -> None:
        counter = registry.counter("records_total")
        for _ in range(2000):
            counter.add()

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert registry.counter("records_total").value == 8000


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_rate_looks_back_over_its_window_only() -> None:
    clock = Clock()
    rate = Rate(window=5, clock=clock)
    assert rate.per_second() == 0
    for total in range(0, 1100, 100):  # 100 a second for ten seconds
        rate.update(total)
        clock.now += 1
    assert rate.per_second() == pytest.approx(100, rel=0.2)
    for _ in range(6):
        rate.update(1000)
        clock.now += 1
    assert rate.per_second() == 0


def test_a_rate_starts_anew_with_the_process_that_counts() -> None:
    clock = Clock()
    rate = Rate(clock=clock)
    rate.update(1_000_000)
    clock.now += 1
    rate.update(10)
    assert rate.per_second() == 0
    clock.now += 1
    rate.update(20)
    assert rate.per_second() == 10
