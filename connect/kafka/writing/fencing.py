"""Fences producers with transactional ids, and aborts their open transactions (KIP-618).

confluent-kafka has no such request, and a producer for each id would cost threads and connections: the request of the
protocol itself is enough.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from connect.errors import ConnectError
from connect.kafka.clients.kafka_python_settings import kafka_python_settings

if TYPE_CHECKING:
    from kafka import KafkaAdminClient

log = logging.getLogger("connect.kafka")

_AT_ONCE: Final = 50
_LOOK_AGAIN_S: Final = 0.05
#: Asked for on behalf of a producer that comes later and says its own.
_TRANSACTION_TIMEOUT_MS: Final = 60_000


def fence(java: Mapping[str, str], transactional_ids: Collection[str], timeout: float) -> None:
    """Have the brokers refuse everything from producers with these ids, and abort their open transactions.

    Returns when all transactions have ended. A producer that initialises itself later owns its id again.

    Args:
        java: the settings of the producers, under Java's keys: brokers, security.
        transactional_ids: which; an unused id is not an error.
        timeout: seconds for all of them.

    Raises:
        ConnectError: the brokers refuse, or do not answer in time.
    """
    from kafka.errors import KafkaError

    deadline = time.monotonic() + timeout
    left = list(transactional_ids)
    while left:
        try:
            admin = _admin(java, deadline)
            try:
                while left:
                    done = admin._manager.run(_fence_some, admin, left[:_AT_ONCE], deadline)
                    left = [name for name in left if name not in done]
            finally:
                admin.close()
        except KafkaError as error:
            # A coordinator that moved is looked up again by another client.
            if not error.retriable or time.monotonic() >= deadline:
                raise ConnectError(
                    f"Producers with the transactional id {left[0]} cannot be fenced: {error}"
                ) from error
            time.sleep(_LOOK_AGAIN_S)


def abort_left_open(
    java: Mapping[str, str], transactional_id: str, timeout: float, may_go_on: Callable[[], bool]
) -> bool:
    """Abort the transaction that an ended producer left open. Returns whether there was one.

    It is looked up first, and only that very producer is fenced: a successor is left alone.

    Args:
        java: see `fence`.
        transactional_id: the producer's.
        timeout: seconds.
        may_go_on: called in between: whether certainly no successor has begun to use the id.

    Raises:
        ConnectError: as `fence`.
    """
    from kafka.errors import KafkaError

    deadline = time.monotonic() + timeout
    try:
        admin = _admin(java, deadline)
        try:
            return bool(admin._manager.run(_abort_left_open, admin, transactional_id, may_go_on))
        finally:
            admin.close()
    except KafkaError as error:
        raise ConnectError(f"The transaction of {transactional_id} cannot be aborted: {error}") from error


def _admin(java: Mapping[str, str], deadline: float) -> KafkaAdminClient:
    from kafka import KafkaAdminClient

    milliseconds = max(1000, int((deadline - time.monotonic()) * 1000))
    limits = {
        "bootstrap_timeout_ms": milliseconds,
        "request_timeout_ms": milliseconds,
        "max_in_flight_requests_per_connection": _AT_ONCE,
    }
    settings = {**kafka_python_settings(java), "client_id": "connect-fencing", **limits}
    return KafkaAdminClient(
        **{name: settings[name] for name in settings.keys() & KafkaAdminClient.DEFAULT_CONFIG.keys()}
    )


async def _coordinators(admin: KafkaAdminClient, transactional_ids: Sequence[str]) -> Mapping[str, int]:
    from kafka.protocol.metadata import CoordinatorType

    found: Mapping[str, int] = await admin._find_coordinator_ids(
        transactional_ids, key_type=CoordinatorType.TRANSACTION
    )
    return found


def _init(transactional_id: str, producer_id: int = -1, epoch: int = -1) -> Any:
    from kafka.protocol.producer import InitProducerIdRequest

    return InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=_TRANSACTION_TIMEOUT_MS,
        producer_id=producer_id,
        producer_epoch=epoch,
        max_version=5,  # the sixth is for two-phase commit
    )


async def _fence_some(admin: KafkaAdminClient, transactional_ids: Sequence[str], deadline: float) -> set[str]:
    """Fence these, all at once. Returns those that are fenced; the others are still ending their transactions."""
    from kafka.errors import ConcurrentTransactionsError, NoError, RequestTimedOutError, for_code

    coordinators = await _coordinators(admin, transactional_ids)
    asked = {name: admin._manager.send(_init(name), node_id=coordinators[name]) for name in transactional_ids}
    done: set[str] = set()
    for name, answer in asked.items():
        error = for_code((await answer).error_code)
        if error is NoError:
            done.add(name)
        elif error is not ConcurrentTransactionsError:
            raise error(f"transactional id {name}")
    if len(done) < len(asked):
        if time.monotonic() >= deadline:
            raise RequestTimedOutError("their transactions have not ended in time")
        await admin._net.sleep(_LOOK_AGAIN_S)
    return done


async def _abort_left_open(admin: KafkaAdminClient, transactional_id: str, may_go_on: Callable[[], bool]) -> bool:
    from kafka.admin import TransactionState
    from kafka.errors import (
        ConcurrentTransactionsError,
        InvalidProducerEpochError,
        NoError,
        ProducerFencedError,
        TransactionalIdNotFoundError,
        for_code,
    )

    try:
        known = (await admin._async_describe_transactions([transactional_id]))[transactional_id]
    except TransactionalIdNotFoundError:
        return False
    if known.state is not TransactionState.ONGOING or not may_go_on():
        return False
    coordinators = await _coordinators(admin, [transactional_id])
    request = _init(transactional_id, known.producer_id, known.producer_epoch)
    error = for_code((await admin._manager.send(request, node_id=coordinators[transactional_id])).error_code)
    if error in (ProducerFencedError, InvalidProducerEpochError):
        return False  # somebody holds the id by now, and has ended that transaction
    if error not in (NoError, ConcurrentTransactionsError):  # the latter: it is being aborted
        raise error(f"transactional id {transactional_id}")
    return True
