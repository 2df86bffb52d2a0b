"""A producer of one task that writes in transactions: records and offsets appear together or not at all (KIP-98).

librdkafka uses the first version of the transaction protocol with every broker. In it all transactions of a producer
have one epoch, so the request that ends a transaction ends the next one when it arrives late: after the client lost the
connection, sent it again on another one, and began the next transaction (KIP-890, https://jepsen.io/analyses/bufstream-0.1.0).
So after an end that was sent twice the producer is to be claimed again, which gives it another epoch.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from connect.errors import ConnectError, FencedError
from connect.kafka.clients.log import log as client_log
from connect.kafka.writing.deliveries import Unsent
from connect.kafka.writing.produce import BatchProducer
from connect.kafka.writing.refusals import DeliveryError

log = logging.getLogger("connect.kafka")

_SLICE_S: Final = 0.5
#: How long a broker may take for the first answer; it may have to end the transaction of a predecessor.
_CLAIM_SLICE_S: Final = 10.0
#: How long a transaction that is to be aborted may stand still before that is done all the same.
_QUIET_S: Final = 2.0
#: How long to wait for a connection before the connections are looked at.
_CONNECTED_S: Final = 2.0


class AbortableError(ConnectError):
    """The open transaction cannot be committed. It has to be aborted; then another may begin."""


class TransactionalProducer(BatchProducer):
    """A `BatchProducer` whose records count when `commit` returns. For one thread, in this order:

        claim -> (begin -> (send | write)* -> commit or abort -> [claim])* -> close

    A record that the broker refuses fails the whole transaction and is raised as `DeliveryError`; only what the client
    itself refuses, such as a record that is too large, goes to `refused`.

    Args:
        settings: librdkafka's, with transactional.id.
        keep_going, refused, more: see `BatchProducer`.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        keep_going: Callable[[], None],
        refused: Callable[[DeliveryError, Any], None],
        *more: Any,
    ) -> None:
        debug = {part for part in str(settings.get("debug", "")).split(",") if part}
        self._ends = _Ends(shows_debug=bool(debug))
        self._claimed = False
        super().__init__({**settings, "debug": ",".join(sorted({*debug, _EOS}))}, keep_going, refused, *more)
        self._id = str(settings["transactional.id"])
        self._longest = float(settings.get("transaction.timeout.ms", 60_000)) / 1000
        self._dropping = False
        self._broken: DeliveryError | None = None
        self._failed = False  # the open transaction: it can but be aborted
        self._began = 0.0
        self._sent_before = 0

    @property
    def must_claim(self) -> bool:
        """Whether the id has to be claimed before the next transaction: the end of one may still be on its way."""
        self._producer.poll(0)
        return self._ends.sent_twice

    def claim(self) -> None:
        """Claim the transactional id: its previous owner is fenced, and the open transaction aborted.

        May be called again between transactions. Then the previous owner is this producer itself, and what it sent and
        is still on its way is refused. Whether this task is still the current one has to be checked again.

        Raises:
            ConnectError: the brokers refuse.
            NotLetInError: they refuse this client.
        """
        from confluent_kafka import KafkaException

        if self._claimed:
            self._producer.flush(0)
            self._connect(client_log)  # a client claims once
        self._ends.sent_twice = False
        while True:
            self._keep_going()
            # The client looks for its coordinator at once, mostly before it has a connection, and again only after
            # half a second. This waits for a connection (2.16.1; asking for one topic helps less often).
            try:
                self._producer.list_topics(timeout=_CONNECTED_S)
            except KafkaException:
                self._look_at_connections()
                continue
            try:
                self._producer.init_transactions(_CLAIM_SLICE_S)
            except Exception as raised:
                error = _kafka_error(raised)
                if error is None or not error.retriable():
                    raise self._said(raised, "cannot be taken") from raised
                self._brokers.unanswered(error)
            else:
                self._brokers.answered()
                self._claimed = True
                return

    def _connect(self, logger: Any) -> None:
        super()._connect(self._ends)

    def begin(self) -> None:
        """Begin a transaction."""
        try:
            self._producer.begin_transaction()
        except Exception as raised:
            raise self._said(raised, "cannot begin a transaction") from raised
        self._broken = None
        self._failed = False
        self._began = time.monotonic()
        self._sent_before = self.sent

    def write(self, topic: str, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        """Write these keys and values in the open transaction, after what was sent before. Does not wait.

        Raises:
            ConnectError: the client refuses one.
        """
        for key, value in records:
            try:
                self._producer.produce(topic, value, key, on_delivery=self._written)
            except Exception as raised:
                error = _kafka_error(raised)
                if error is not None and error.name() == "_STATE":
                    return  # `commit` says why
                raise self._said(raised, f"cannot write to {topic}") from raised

    def commit(self, waiting: Callable[[], None]) -> None:
        """Commit everything since `begin`. May be called again when `waiting` raised.

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
                self.deliveries.check()
                error = _kafka_error(raised)
                if error is None or error.fatal() or error.txn_requires_abort() or not error.retriable():
                    self._failed = True
                    raise self._said(raised, "cannot commit a transaction") from raised
                self._look_at_connections()
                waiting()
            else:
                self.deliveries.check()
                self.deliveries.acknowledged()  # so that what measures batches hears of them before their commit
                return

    def abort(self, waiting: Callable[[], None]) -> None:
        """Discard everything since `begin`. Arguments and errors as in `commit`."""
        self._dropping = True
        try:
            self._settle(waiting)
            while True:
                try:
                    self._producer.abort_transaction(_SLICE_S)
                except Exception as raised:
                    error = _kafka_error(raised)
                    if error is None or error.fatal() or not error.retriable():
                        raise self._said(raised, "cannot abort a transaction") from raised
                    self._look_at_connections()
                    waiting()
                else:
                    break
            self._producer.poll(0)
            self._forget()
            self.sent = self._sent_before
        finally:
            self._dropping = False

    def _settle(self, waiting: Callable[[], None]) -> None:
        """Have the brokers take what was sent, before it is discarded.

        While the coordinator completes the end of the transaction before, it takes no partition into this one. The
        client sends the end of this one all the same, is refused (INVALID_TXN_STATE), and works no more. And where it
        throws away what has a sequence number, the next transaction fails (OUT_OF_ORDER_SEQUENCE_NUMBER).
        """
        before, quiet_until = -1, 0.0
        while not (self._failed or self._broken) and (left := self._producer.flush(_SLICE_S)):
            now = time.monotonic()
            if left != before:
                before, quiet_until = left, now + _QUIET_S
            if now >= quiet_until:
                return
            waiting()

    def poll(self, timeout: float = 0) -> None:
        try:
            super().poll(timeout)
        finally:
            self.deliveries.acknowledged()  # marks say nothing before the commit

    def _wait(self) -> None:
        if self._broken is not None or time.monotonic() >= self._began + self._longest:
            self._failed = True
            said = "it lasts longer than transaction.timeout.ms" if self._broken is None else str(self._broken)
            raise AbortableError(f"A transaction of {self._id} cannot go on: {said}.")
        super()._wait()

    def close(self) -> None:
        from confluent_kafka import KafkaException

        with suppress(KafkaException):  # a client that was fenced says so once more
            super().close()

    # What the client tells.

    def _refused(self, error: DeliveryError, message: Any) -> bool:
        if self._dropping:
            return False
        if error.code in _OF_THE_TRANSACTION:
            self._broken = self._broken or error
            return False
        if isinstance(message, Unsent):
            return super()._refused(error, message)
        self.deliveries.errors.append(error)
        return False

    def _written(self, error: Any, message: Any) -> None:
        if error is not None:
            self._given_back(DeliveryError(message.topic(), error.name(), error.str()), message)

    def _broken_by(self, error: Any) -> ConnectError:
        return self._said_by(error, "cannot go on")

    def _look_at_connections(self) -> None:
        self._producer.poll(0)
        self._brokers.check(self._producer)

    def _said(self, raised: Exception, what: str) -> Exception:
        error = _kafka_error(raised)
        return raised if error is None else self._said_by(error, what)

    def _said_by(self, error: Any, what: str) -> ConnectError:
        said = f"{error.str()} ({error.name()})"
        if error.name() in _FENCED:
            return FencedError(
                f"The transactional id {self._id} was taken over, or its transaction lasted longer than"
                f" transaction.timeout.ms: {said}. Another instance of this task may run by now; if this is the only"
                " one, restart it."
            )
        words = f"The producer {self._id} {what}: {said}.{_advice(error.name(), self._id)}"
        again = error.txn_requires_abort() and not error.name().endswith("AUTHORIZATION_FAILED")
        return AbortableError(words) if again else ConnectError(words)


class _Ends:
    """The client's log, which alone says that it sent the end of a transaction twice (librdkafka 2.16, debug=eos).

    Args:
        shows_debug: whether the user wants to see such lines too.
    """

    def __init__(self, *, shows_debug: bool) -> None:
        self.sent_twice = False
        self._shows_debug = shows_debug

    def log(self, level: int, message: str, kind: str, *more: str) -> None:
        """Called by the client while it is polled."""
        if kind == "ENDTXN" and not more[-1].startswith(_ENDED):
            self.sent_twice = True
        if level > logging.DEBUG or self._shows_debug:
            client_log.log(level, message, kind, *more)


_EOS: Final = "eos"
_ENDED: Final = "[thrd:main]: EndTxn returned NO_ERROR"
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
