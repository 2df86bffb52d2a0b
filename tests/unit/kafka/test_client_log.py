"""Of what librdkafka logs, only what someone may act on is let through, unless all is asked for."""

import logging
import time

import pytest
from confluent_kafka import Producer

from connect.kafka.clients.log import log


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("FAIL [rdkafka#producer-1] [thrd:b:1/1]: b:1/1: Connect to ipv4#1.2.3.4:1 failed: Connection refused", False),
        (
            "GETPID [rdkafka#producer-1] [thrd:main]: Failed to acquire: load in progress: retrying",
            False,
        ),
        ("GETPID [rdkafka#producer-1] [thrd:main]: Failed to acquire idempotence PID: not authorized", True),
        ("CONFWARN [rdkafka#producer-1] [thrd:app]: FAIL is not a setting", True),
    ],
)
def test_what_passes_by_itself_is_for_debugging(text, told, caplog):
    with caplog.at_level(logging.INFO, "connect.kafka.client"):
        log.error("%s", text)
    assert bool(caplog.records) is told
    caplog.clear()
    with caplog.at_level(logging.DEBUG, "connect.kafka.client"):
        log.error("%s", text)
    assert len(caplog.records) == 1


def test_a_line_that_comes_with_each_try_is_written_once_a_minute(caplog, monkeypatch):
    line = "OFFSET [rdkafka#consumer-1] [thrd:main]: orders [0]: offset reset: failed to query logical offset"
    with caplog.at_level(logging.INFO, "connect.kafka.client"):
        for _ in range(3):
            log.warning("%s", line)
            log.warning("%s", line.replace("[0]", "[1]"))
        assert [record.getMessage() for record in caplog.records] == [line, line.replace("[0]", "[1]")]
        later = time.monotonic() + 61
        monkeypatch.setattr(time, "monotonic", lambda: later)
        log.warning("%s", line)
    assert len(caplog.records) == 3


def test_a_client_s_tries_to_reach_a_broker_are_told_by_its_error_callback_alone(caplog):
    errors = []
    producer = Producer({"bootstrap.servers": "127.0.0.1:1", "error_cb": errors.append, "logger": log})
    with caplog.at_level(logging.INFO, "connect.kafka.client"):
        while not errors:
            producer.poll(0.1)
    assert "Connection refused" in str(errors[0])
    assert not caplog.records
    producer.purge()
