"""A producer of one task that writes in transactions: records and offsets appear together or not at all (KIP-98).

librdkafka speaks the first version of the transaction protocol, to whatever broker: see docs/exactly-once.md for what
that leaves open.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from connect.errors import ConnectError
from connect.kafka.produce import BatchProducer, DeliveryError, Unsent

log = logging.getLogger("connect.kafka")

_SLICE_S: Final = 0.5
#: How long a broker may take for the first answer; it may have to end the transaction of a predecessor.
_CLAIM_SLICE_S: Final = 10.0


class FencedError(ConnectError):
    """Another producer has this one's transactional id by now: nothing of what is under way will be seen."""

    def __init__(self, transactional_id: str, said: str) -> None:
        super().__init__(
            f"The transactional id {transactional_id} was taken over, or its transaction lasted longer than"
            f" transaction.timeout.ms ({said}). Another instance of this task may have been started: look at the"
            " connector's state, and restart this task if it is the only one."
        )


class AbortableError(ConnectError):
    """The open transaction cannot be committed. It has to be aborted; then another may begin."""


class TransactionalProducer(BatchProducer):
    """A `BatchProducer` whose records count when `commit` returns. Called from one thread, in this order:

        claim -> (begin -> (send | write)* -> commit or abort)* -> close

    A record that the broker refuses fails the whole transaction and is raised as `DeliveryError`; only what the client
    itself does not take, such as a record that is too large, goes to `refused`.

    Args:
        settings: librdkafka's, with transactional.id.
        keep_going, refused: see `BatchProducer`.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        keep_going: Callable[[], None],
        refused: Callable[[DeliveryError, Any], None],
    ) -> None:
        super().__init__(settings, keep_going, refused)
        self._id = str(settings["transactional.id"])
        self._dropping = False

    def claim(self) -> None:
        """Take the transactional id: whoever held it is fenced, and its open transaction aborted.

        Raises:
            ConnectError: the brokers refuse.
        """
        while True:
            self._keep_going()
            try:
                self._producer.init_transactions(_CLAIM_SLICE_S)
            except Exception as raised:
                error = _kafka_error(raised)
                if error is None or not error.retriable():
                    raise self._said(raised, "cannot be taken") from raised
                self._say(f"{error.str()}. Trying again.")
            else:
                return

    def begin(self) -> None:
        """Begin a transaction."""
        try:
            self._producer.begin_transaction()
        except Exception as raised:
            raise self._said(raised, "cannot begin a transaction") from raised

    def write(self, topic: str, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        """Write these keys and values in the open transaction, after what was sent before. Does not wait.

        Raises:
            AbortableError: one is not taken.
        """
        for key, value in records:
            try:
                self._producer.produce(topic, value, key, on_delivery=self._written)
            except Exception as raised:
                raise self._said(raised, f"cannot write to {topic}") from raised

    def commit(self, waiting: Callable[[], None]) -> None:
        """Make everything since `begin` count. May be called again when `waiting` raised.

        Args:
            waiting: called twice a second while brokers do not answer; may raise, and the outcome is open then.

        Raises:
            AbortableError: see there.
            FencedError: see there.
            DeliveryError: the broker refuses a record.
        """
        while True:
            try:
                self._producer.commit_transaction(_SLICE_S)
            except Exception as raised:
                self._raise_refusal()
                error = _kafka_error(raised)
                if error is None or error.fatal() or error.txn_requires_abort() or not error.retriable():
                    raise self._said(raised, "cannot commit a transaction") from raised
                waiting()
            else:
                self._raise_refusal()
                return

    def abort(self, waiting: Callable[[], None]) -> None:
        """Take back everything since `begin`. Arguments and errors as in `commit`."""
        self._dropping = True
        try:
            while True:
                try:
                    self._producer.abort_transaction(_SLICE_S)
                except Exception as raised:
                    error = _kafka_error(raised)
                    if error is None or error.fatal() or not error.retriable():
                        raise self._said(raised, "cannot abort a transaction") from raised
                    waiting()
                else:
                    break
            self._producer.poll(0)
            self._forget()
        finally:
            self._dropping = False

    def poll(self, timeout: float = 0) -> None:
        try:
            super().poll(timeout)
        finally:
            self.acknowledged()  # marks say nothing before the commit

    def close(self) -> None:
        from confluent_kafka import KafkaException

        with suppress(KafkaException):  # a client that was fenced says so once more
            super().close()

    # What the client tells.

    def _refused(self, error: DeliveryError, message: Any) -> bool:
        if self._dropping or error.code in _OF_THE_TRANSACTION:
            return False
        if isinstance(message, Unsent):
            return super()._refused(error, message)
        self._errors.append(error)
        return False

    def _written(self, error: Any, message: Any) -> None:
        if error is not None:
            self._refused(DeliveryError(message.topic(), error.name(), error.str()), message)

    def _on_error(self, error: Any) -> None:
        if error.fatal():
            self._errors.append(self._said_by(error, "cannot go on"))
        else:
            super()._on_error(error)

    def _raise_refusal(self) -> None:
        if self._errors:
            raise self._errors[0]

    def _said(self, raised: Exception, what: str) -> Exception:
        error = _kafka_error(raised)
        return raised if error is None else self._said_by(error, what)

    def _said_by(self, error: Any, what: str) -> ConnectError:
        said = f"{error.str()} ({error.name()})"
        if error.name() in _FENCED:
            return FencedError(self._id, said)
        words = f"The producer {self._id} {what}: {said}.{_advice(error.name(), self._id)}"
        return AbortableError(words) if error.txn_requires_abort() else ConnectError(words)


_FENCED: Final = frozenset({"_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"})
#: What becomes of records when their transaction does not come about, for reasons that are not theirs.
_OF_THE_TRANSACTION: Final = _FENCED | {
    "_STATE",
    "_FATAL",
    "_PURGE_QUEUE",
    "_PURGE_INFLIGHT",
    "_MSG_TIMED_OUT",
    "_TIMED_OUT",
    "_INCONSISTENT",
    "INVALID_PRODUCER_ID_MAPPING",
    "UNKNOWN_PRODUCER_ID",
    "INVALID_TXN_STATE",
    "OUT_OF_ORDER_SEQUENCE_NUMBER",
}


def _kafka_error(raised: Exception) -> Any:
    from confluent_kafka import KafkaException

    return raised.args[0] if isinstance(raised, KafkaException) else None


def _advice(code: str, transactional_id: str) -> str:
    if code == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED":
        return f" Grant WRITE and DESCRIBE on the transactional id {transactional_id} to this producer's user."
    return ""
