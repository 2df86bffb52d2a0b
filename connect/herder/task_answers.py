"""Answers what tasks ask of their worker: offsets to begin at, offsets to store, keys, and whether they may begin."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Final

from connect.herder.ending import Ending
from connect.herder.offset_stores import OffsetStores
from connect.worker import messages
from connect.worker.background import Background
from connect.worker.supervisor import TaskProcess

log = logging.getLogger("connect.herder")

#: Raises ConnectError when a task must not run any more.
MayBegin = Callable[[messages.TaskSpec], None]
Question = messages.AskOffsets | messages.AskOffsetKeys | messages.AskToBegin | messages.StoreOffsets

#: Some may wait for brokers of their connectors alone.
_AT_ONCE: Final = 16
_LAST_STORES_S: Final = 3.0


class TaskAnswers:
    """Answers in threads of its own: stores may wait for a disk or a broker, and who renews the leases must not.

    Args:
        stores: of the offsets of sources.
    """

    def __init__(self, stores: OffsetStores) -> None:
        self._stores = stores
        self._may_begin: MayBegin
        self._storing = Background("offsets", 1)
        self._answering = Background("answers", _AT_ONCE)

    def listen(self, may_begin: MayBegin) -> None:
        """Set who says whether a task may begin; call it before the first task."""
        self._may_begin = may_begin

    def take(self, task: TaskProcess, question: Question) -> None:
        """Answer a task as soon as a thread is free. Does not block."""
        match question:
            case messages.AskOffsets():
                self._answering.submit(partial(self._offsets, task, question))
            case messages.AskOffsetKeys():
                self._answering.submit(partial(self._keys, task, question))
            case messages.AskToBegin():
                self._answering.submit(partial(self._begin, task, question))
            case messages.StoreOffsets():
                self._storing.submit(partial(self._store, task, question))

    def close(self, ending: Ending) -> None:
        """Wait a moment for offsets that are being stored: the rest fails when the stores are closed (P11)."""
        self._answering.close(0, drop=True)
        self._storing.close(min(_LAST_STORES_S, ending.left()))

    def _offsets(self, task: TaskProcess, question: messages.AskOffsets) -> None:
        try:
            found = self._stores.of(task.spec.connector_config).get(task.spec.connector, question.partitions)
            task.send(messages.Offsets(question.question, [None if o is None else dict(o) for o in found]))
        except Exception as error:
            task.send(messages.Offsets(question.question, [], f"Offsets cannot be read: {error}"))

    def _store(self, task: TaskProcess, request: messages.StoreOffsets) -> None:
        try:
            self._stores.shared.set(task.spec.connector, request.entries)
            task.send(messages.Stored(request.question))
        except Exception as error:
            if task.spec.offsets_topic is not None:
                log.warning("The shared topic refuses its offsets: %s", error, extra={"about": task.id})
            task.send(messages.Stored(request.question, f"Offsets cannot be stored: {error}"))

    def _keys(self, task: TaskProcess, question: messages.AskOffsetKeys) -> None:
        try:
            store = self._stores.written_by_tasks(task.spec.connector_config)
            task.send(messages.OffsetKeys(question.question, store.spellings(task.spec.connector, question.partitions)))
        except Exception as error:
            task.send(messages.OffsetKeys(question.question, [], f"Offsets cannot be stored: {error}"))

    def _begin(self, task: TaskProcess, question: messages.AskToBegin) -> None:
        try:
            self._may_begin(task.spec)
            task.send(messages.Stored(question.question))
        except Exception as error:
            task.send(messages.Stored(question.question, str(error)))
