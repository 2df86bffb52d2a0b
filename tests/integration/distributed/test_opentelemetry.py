"""Traces of a pool: requests across workers, rebalances, fencing, and transactions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.servers.otlp import Receiver, about, otlp

from .pool import Pool, steady

CALLER = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with otlp() as server:
        yield server


def test_a_request_is_one_trace_whatever_worker_carries_it_out(
    pool: Pool, receiver: Receiver, name: str, tmp_path: Path
) -> None:
    keys = {"telemetry_opentelemetry": "traces", "telemetry_opentelemetry_endpoint": receiver.url}
    pool.start(2, **keys)
    pool.until(pool.followers)
    follower, leader = pool.followers()[0], pool.leader()
    header = {"traceparent": f"00-{CALLER[0]}-{CALLER[1]}-01"}
    made = follower.ask("POST", "/connectors", {"name": name, "config": steady(tmp_path)}, headers=header)
    assert made.status == 201
    pool.until(lambda: follower.runs(name, 1), "it runs")
    pool.until(lambda: len(receiver.named("POST /connectors")) == 2, "both workers have sent their spans")
    pool.until(lambda: receiver.named("putting connector"))
    (first,) = (span for span in receiver.named("POST /connectors") if span.parent_span_id.hex() == CALLER[1])
    (second,) = receiver.children(first)["POST /connectors"]
    below = receiver.children(second)
    assert "validating the configuration of connector" in below
    (put,) = receiver.named("putting connector")
    assert {span.trace_id.hex() for span in (first, second, put)} == {CALLER[0]}
    assert about(put.attributes) == {"connector": name}
    rebalances = receiver.named("rebalance")
    causes = {about(span.attributes)["connect.rebalance.cause"] for span in rebalances}
    assert "start" in causes
    assert {about(span.attributes)["connect.rebalance.leader"] for span in rebalances} >= {f"127.0.0.1:{leader.port}"}
    assert all(span.kind == Span.SPAN_KIND_INTERNAL for span in rebalances)
    pool.until(lambda: receiver.named("task start"))
    assert not re.search(name, " ".join({span.name for span in receiver.spans})), "names of spans are of their kinds"


def test_transactions_and_fencing_are_traced(
    pool: Pool, receiver: Receiver, name: str, tmp_path: Path, new_topic: Callable[..., str]
) -> None:
    keys = {
        "telemetry_opentelemetry": "traces",
        "telemetry_opentelemetry_endpoint": receiver.url,
        "telemetry_opentelemetry_batch_ratio": "1",
        "exactly_once_source_support": "enabled",
    }
    (worker,) = pool.start(1, **keys)
    (tmp_path / "upto").write_text("20")
    counting = {"connector.class": "counting.CountingSource", "folder": str(tmp_path), "topic": new_topic()}
    worker.create(f"{name}-numbers", counting)
    worker.create(name, steady(tmp_path, 2))
    pool.until(lambda: worker.runs(name, 2), "it runs")
    pool.until(
        lambda: [len(receiver.children(span).get("commit", [])) for span in receiver.named("source batch")] == [1, 1],
        "both batches are committed",
    )
    # Other tasks: those of before are fenced.
    worker.do("PUT", f"/connectors/{name}/config", {**steady(tmp_path, 1), "name": name})
    pool.until(lambda: worker.runs(name, 1), "it has one task")
    pool.until(lambda: receiver.named("fencing"))
    (fencing,) = receiver.named("fencing")
    assert about(fencing.attributes) == {"connector": name, "connect.fencing.tasks": 2}
    for span in receiver.named("source batch"):
        steps = receiver.children(span)
        assert steps.keys() == {"poll", "convert", "send", "commit"}
        assert steps["commit"][0].start_time_unix_nano >= span.start_time_unix_nano
