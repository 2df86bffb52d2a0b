"""Requests to brokers over kafka-python's connections, retried until a transient error has passed.

A leader or a coordinator moved, a broker restarts, a connection is lost: each is a reason to retry, until the request
times out. The requests are in `connect.kafka.admin.client`.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Any, Final, TypeVar

from kafka import errors
from kafka.net.compat import KafkaNetClient
from kafka.net.manager import KafkaConnectionManager
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.kafka.admin.answers import NO_ANSWER, TIMEOUT_S, AdminError
from connect.kafka.clients.errors import NotLetInError
from connect.kafka.clients.kafka_python_settings import connected_client, kafka_python_settings

T = TypeVar("T")

#: What brokers say of a topic that does not exist.
NO_TOPIC: Final = ("UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID")

_PAUSE_S: Final = 0.1
_CONNECT_S: Final = 5.0  # one try, after which somebody may have closed the client
_LEAST_S: Final = 0.1  # what a question takes though its time is up
_REFUSED_FOR_S: Final = 3.0  # a broker that has only just started may refuse whom it lets in a moment later
_GROUP: Final = 0  # what a coordinator is looked up for


class Asking:
    """Sends requests to the brokers of one cluster. Thread-safe. Connects at the first request.

    Close it, or drop it: then its connections end as well.

    Args:
        java: settings of an admin client, under Java's keys: brokers, security, times.
        client_id: which brokers log.
        timeout: seconds for each request, retries and connecting included.

    Raises:
        ConnectError: a setting is wrong.
    """

    def __init__(self, java: Mapping[str, str], client_id: str = "connect-admin", timeout: float = TIMEOUT_S) -> None:
        self._settings = {**kafka_python_settings(java), "client_id": java.get("client.id") or client_id}
        self._timeout = timeout
        self._connecting = threading.Lock()
        self._client: KafkaNetClient | None = None
        self._end: weakref.finalize[[KafkaNetClient], Asking] | None = None  # of a client that nobody closes
        self._closed = threading.Event()
        self._leaders: dict[TopicPartition, int] = {}  # which brokers answer for partitions, and for groups
        self._coordinators: dict[str, int] = {}

    def close(self) -> None:
        """End it. Whoever waits for an answer gets an `AdminError`."""
        self._closed.set()
        self._disconnect(self._client)

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._closed.is_set()

    def _ask(self, question: Callable[[KafkaConnectionManager], Awaitable[T]], timeout: float | None = None) -> T:
        """The answer to a request, which runs on the client's thread.

        Raises:
            AdminError: the brokers refuse, or none answered in time.
            NotLetInError: they refuse this client.
        """
        deadline = time.monotonic() + (self._timeout if timeout is None else timeout)
        refusal: NotLetInError | None = None
        refused_until = deadline
        while True:
            left = max(_LEAST_S, deadline - time.monotonic())
            client = None
            try:
                client = self._connected(left)
                manager = client._manager
                future = manager.call_soon(question, manager)
                answer: T = manager.run(manager.wait_for, future, left * 1000)
            except NotLetInError as error:
                if refusal is None:
                    refused_until = min(deadline, time.monotonic() + _REFUSED_FOR_S)
                refusal = error
            except (ConnectError, RuntimeError, errors.KafkaError) as error:
                self._look_at(error, client, over=refusal is None and time.monotonic() >= deadline)
            else:
                return answer
            # A broker that refuses may also just hang up.
            if refusal is not None and time.monotonic() >= refused_until:
                raise refusal
            self._closed.wait(_PAUSE_S)

    def _look_at(self, error: Exception, client: KafkaNetClient | None, *, over: bool) -> None:
        """Raise the error that a request ended with, unless it may be retried."""
        problem = self._told(error)
        if _is_broken(error) or (over and problem.code == NO_ANSWER):
            self._disconnect(client)
        elif client is not None and isinstance(error, errors.UnknownBrokerIdError):
            client._net.call_soon_threadsafe(client.cluster.request_update)
        if self.closed:
            raise AdminError(NO_ANSWER, "The client was closed", passes=False) from error
        if over or not problem.passes:
            raise problem from error
        self._leaders.clear()
        self._coordinators.clear()

    def _connected(self, timeout: float) -> KafkaNetClient:
        with self._connecting:
            if self._client is None and not self.closed:
                self._client = connected_client(self._settings, min(timeout, _CONNECT_S))
                self._end = weakref.finalize(self, _close, self._client)
                self._end.atexit = False
            client = self._client
            if self.closed:
                self._disconnect(client)
            if client is None or self.closed:
                raise ConnectError("The client was closed.")
            return client

    def _disconnect(self, client: KafkaNetClient | None) -> None:
        """Close a client, unless it is closed. The next request gets another one."""
        if client is not None and self._client is client:
            self._client = None
            if self._end is not None:
                self._end.detach()
            _close(client)

    def _told(self, error: BaseException) -> AdminError:
        """How a request ended, in words."""
        said = " ".join(str(error.args[0]).split()).rstrip(".") if error.args else ""
        if isinstance(error, ConnectError):
            return AdminError(NO_ANSWER, said, passes=True)
        if not isinstance(error, errors.BrokerResponseError):
            where = ", ".join(self._settings["bootstrap_servers"])
            if isinstance(error, errors.NodeNotReadyError):
                said = "none is connected"  # the client names its number of a broker, or says that it has none
            return AdminError(NO_ANSWER, f"No broker answers at {where} ({said or type(error).__name__})", passes=True)
        code = str(error.message)
        passes = (error.retriable and code not in NO_TOPIC) or _is_broken(error)
        return AdminError(code, said or code.replace("_", " ").capitalize(), passes=passes)

    def _patience_ms(self, timeout: float | None) -> int:
        return max(1, int((self._timeout if timeout is None else timeout) * 1000))

    async def _by_leader(
        self, manager: KafkaConnectionManager, partitions: Iterable[TopicPartition]
    ) -> dict[int, list[tuple[str, list[TopicPartition]]]]:
        """The leader of each of these partitions: it alone answers for them."""
        partitions = list(partitions)
        if any(partition not in self._leaders for partition in partitions):
            for topic in (await manager.send(metadata({partition.topic for partition in partitions}))).topics:
                check(topic.error_code)
                for each in topic.partitions:
                    self._leaders[TopicPartition(topic.name, each.partition_index)] = each.leader_id
        found = defaultdict(list)
        for partition in partitions:
            leader = self._leaders.get(partition)
            if leader is None:
                raise errors.UnknownTopicOrPartitionError(
                    f"There is no partition {partition.partition} of {partition.topic}"
                )
            if leader < 0:
                raise errors.LeaderNotAvailableError(
                    f"Partition {partition.partition} of {partition.topic} has no leader"
                )
            found[leader].append(partition)
        return {leader: by_topic(some) for leader, some in found.items()}

    async def _coordinator(self, manager: KafkaConnectionManager, group: str) -> int:
        """The broker that coordinates a group, until it says that it does not."""
        if (known := self._coordinators.get(group)) is not None:
            return known
        if manager.broker_version_data.api_version(FindCoordinatorRequest) < 4:
            answer = await manager.send(FindCoordinatorRequest(key=group, key_type=_GROUP, max_version=3))
        else:
            request = FindCoordinatorRequest(key_type=_GROUP, coordinator_keys=[group], min_version=4)
            answer = (await manager.send(request)).coordinators[0]
        check(answer.error_code, answer.error_message)
        self._coordinators[group] = found = int(answer.node_id)
        return found


def metadata(topics: Collection[str] | None) -> Any:
    """The metadata request for these topics; None: for all."""
    asked = None if topics is None else [MetadataRequest.MetadataRequestTopic(name=topic) for topic in topics]
    return MetadataRequest(topics=asked, allow_auto_topic_creation=False)


def by_topic(partitions: Iterable[TopicPartition]) -> list[tuple[str, list[TopicPartition]]]:
    """These partitions by topic, in the form of requests."""
    found = defaultdict(list)
    for partition in partitions:
        found[partition.topic].append(partition)
    return list(found.items())


def name(code: int) -> str:
    """Kafka's name of an error code; empty for none."""
    return "" if code == 0 else str(errors.for_code(code).message)


def check(code: int, message: str | None = None) -> None:
    """Raise kafka-python's error for this error code, unless it is 0."""
    if code:
        raise errors.for_code(code)(message or "")


def _is_broken(error: BaseException) -> bool:
    """Whether a client is unusable: it is closed, or would never again ask a broker that refused it once."""
    return isinstance(error, RuntimeError | errors.SaslAuthenticationFailedError)


def _close(client: KafkaNetClient) -> None:
    # The end of an object that nobody holds may come in any thread, also in the one that is to end here.
    if threading.current_thread() is client._net._io_thread:
        threading.Thread(target=client.close, daemon=True).start()
    else:
        client.close()
