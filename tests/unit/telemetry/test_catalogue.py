"""The catalogue of metrics: it is what Kafka Connect has, and the page of it is as it would be made."""

import importlib.util
from pathlib import Path

from connect.telemetry.catalogue import DOCS, GROUPS, KAFKA, OURS, prometheus_name
from connect.telemetry.metrics import Registry

ROOT = Path(__file__).parents[3]


def test_the_page_is_as_it_would_be_made() -> None:
    spec = importlib.util.spec_from_file_location("metrics_page", ROOT / ".ci" / "metrics.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = module.PAGE.read_text(encoding="utf-8")
    assert page == module.with_tables(page), "run .ci/metrics.py"


def test_names_are_those_that_dashboards_expect() -> None:
    poll = ("source-task-metrics", "source-record-poll-total")
    assert prometheus_name(*poll) == "kafka_connect_source_task_metrics_source_record_poll_total"
    assert prometheus_name(*poll, "short") == "kafka_connect_source_task_source_record_poll_total"
    worker = ("connect-worker-metrics", "connector-count")
    assert prometheus_name(*worker) == "kafka_connect_connect_worker_metrics_connector_count"
    assert prometheus_name(*worker, "short") == "kafka_connect_worker_connector_count"
    epoch = ("connect-worker-rebalance-metrics", "epoch")
    assert prometheus_name(*epoch, "short") == "kafka_connect_worker_rebalance_epoch"
    assert prometheus_name("connector-task-metrics", "status", "short") == "kafka_connect_connector_status"


def test_every_name_is_one_metric_and_explained() -> None:
    for naming in ("jmx", "short"):
        names = [metric.prometheus(naming) for metric in KAFKA] + [metric.name for metric in OURS]
        assert len(names) == len(set(names))
        assert set(names) <= DOCS.keys()
    assert {metric.group for metric in KAFKA} == GROUPS.keys()


def test_ours_are_names_that_a_registry_takes() -> None:
    registry = Registry()
    for metric in OURS:
        getattr(registry, metric.kind)(metric.name, **dict.fromkeys(metric.labels, "x"))
