"""Bounds and checks what a task's process sends to its worker: plug-in code runs there and may send anything."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Iterable
from typing import Final

import msgspec

from connect.telemetry.metrics import Buckets, Sample
from connect.telemetry.spans import is_sound
from connect.worker import messages
from connect.worker.channel import cut

#: Series of one task, and topics. A task of ours has about fifty series.
MOST: Final = 10_000
_BOUNDS = 200
#: Spans at a time: what a worker keeps for all of its tasks.
_SPANS: Final = 2_048
#: Characters of a label, its name and its value.
_LABEL_SIZE = 1_000
#: Bytes of a record that is shown.
TAPPED_SIZE: Final = 1 << 20
#: Characters of what stands in one line, and of a topic's name.
_LINE = 1_000
_DATASETS = 1_000
_TOPIC = 249
# What Prometheus takes: one other name, and it takes nothing of the page.
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]{,199}")
_LABEL = re.compile(r"(?!le$)[a-zA-Z_][a-zA-Z0-9_]*")
#: Seconds: beyond every clock, and small enough to reckon with.
_NO_TIME = 1e12


class Asked:
    """Requests of one task that are not answered yet. Safe to use from several threads.

    Args:
        most: the maximum of bytes of open requests.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: dict[int, int] = {}
        self._total = 0
        self._lock = threading.Lock()

    def takes(self, question: int, size: int) -> bool:
        """A request arrived. Returns whether it may be answered."""
        with self._lock:
            self._open[question] = self._open.get(question, 0) + size
            self._total += size
            return self._total <= self._most

    def answered(self, question: int) -> None:
        """A request was answered."""
        with self._lock:
            self._total -= self._open.pop(question, 0)


class Said:
    """Checks the messages of one task."""

    def __init__(self) -> None:
        self._series: set[tuple[str, tuple[tuple[str, str], ...]]] = set()
        self._topics: set[str] = set()

    def fit(self, message: messages.AnyMessage) -> messages.AnyMessage | None:
        """The message in a form that can be stored and shown; None for one with impossible content."""
        match message:
            case messages.Failed(summary, trace, kind):
                return messages.Failed(cut(summary), cut(trace), kind)
            case messages.Stalled(trace):
                return messages.Stalled(cut(trace))
            case messages.Running(paused, version, datasets):
                named = [(cut(namespace, _LINE), cut(name, _LINE)) for namespace, name in datasets[:_DATASETS]]
                return messages.Running(paused, None if version is None else cut(version, _LINE), named)
            case messages.Waiting(since, why, what):
                return messages.Waiting(since, cut(why), cut(what, _LINE)) if 0 <= since < _NO_TIME else None
            case messages.Page(url):
                return message if not url or (len(url) <= _LINE and url.startswith(("http://", "https://"))) else None
            case messages.Tapped(question, record, error):
                return messages.Tapped(question, record, cut(error, _LINE)) if len(record) <= TAPPED_SIZE else None
            case messages.Alive(cpu):
                return message if 0 <= cpu < _NO_TIME else None
            case messages.UsedTopics(topics):
                return messages.UsedTopics(
                    [topic for topic in topics if len(topic) <= _TOPIC and self._is_known(topic)]
                )
            case messages.Spans(spans):
                return messages.Spans([span for span in spans[:_SPANS] if is_sound(span)])
            case messages.Progress():
                return msgspec.structs.replace(message, metrics=self._sound(message.metrics))
        return message

    def _is_known(self, topic: str) -> bool:
        if len(self._topics) < MOST:
            self._topics.add(topic)
        return topic in self._topics

    def _sound(self, told: Iterable[Sample]) -> list[Sample]:
        # The rest no registry of ours has made, or it is of too many.
        return [sample for sample in told if _is_sound(sample) and self._takes(sample)]

    def _takes(self, sample: Sample) -> bool:
        key = sample.name, tuple(sorted(sample.labels.items()))
        if len(self._series) < MOST:
            self._series.add(key)
        return key in self._series


def _is_sound(sample: Sample) -> bool:
    name, kind, labels, value = sample
    if not _NAME.fullmatch(name):
        return False
    if not all(_LABEL.fullmatch(label) and len(label) + len(text) <= _LABEL_SIZE for label, text in labels.items()):
        return False
    if not isinstance(value, Buckets):
        return kind != "histogram"
    return (
        kind == "histogram"
        and len(value.bounds) < _BOUNDS
        and len(value.counts) == len(value.bounds) + 1
        and all(0 <= count < _NO_TIME for count in value.counts)
        and all(map(math.isfinite, value.bounds))
        and list(value.bounds) == sorted(set(value.bounds))
    )
