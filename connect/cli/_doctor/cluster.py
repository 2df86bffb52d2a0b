"""The Kafka cluster: its brokers step by step, then, over one connection, the worker's topics and its group."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial

from connect.cli._doctor import brokers, group, topics
from connect.cli._doctor.checks import guarded
from connect.cli._doctor.finding import Finding, note
from connect.cli._doctor.subject import Subject
from connect.errors import ConfigError
from connect.kafka.broker import embedded
from connect.kafka.clients.kafka_python_settings import kafka_python_settings
from connect.kafka.clients.settings import task_java_settings


def check(subject: Subject) -> Iterator[Finding]:
    """All checks of the brokers. Later ones are skipped where none accepts the login."""
    java = task_java_settings("admin", subject.raw, {})
    if subject.worker is None or not java.get("bootstrap.servers"):
        return
    if java["bootstrap.servers"].strip() == "embedded":
        running = embedded.status()
        if running is None:
            yield note("bootstrap.servers", "the embedded broker does not run.", "Nothing: the worker starts it.")
            return
        java["bootstrap.servers"] = running.bootstrap_servers
    try:
        kafka_python_settings(java)
    except ConfigError:
        yield note("brokers", "they are not asked: the settings for them are wrong.", "Correct the errors in the file.")
        return
    reached = yield from brokers.reach(subject, java)
    if reached is None:
        if subject.distributed:
            yield note("topics and group", "they are not looked at without brokers.", "Correct the errors above first.")
        return
    with closing(reached.admin):
        asked = {"brokers": brokers.check, "topics": topics.check, "group": group.check}
        for area, of_area in asked.items():
            if subject.distributed or area == "brokers":
                yield from guarded(area, partial(of_area, subject, reached), debug=subject.debug)
