"""What only the leader of the group may do: it alone writes the config topic, one change after another.

Followers ask it over REST; requests that a worker makes by itself are signed with the session key.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import cached_property, partial
from typing import NamedTuple, TypeVar
from urllib.parse import quote

import orjson

from connect import peers
from connect.errors import ConnectError
from connect.herder.errors import BadRequestError, ElsewhereError, ForbiddenError, NobodyKnownError, RebalanceError
from connect.herder.pool import Pool
from connect.settings.distributed_keys import SigningOptions
from connect.settings.rest_security_keys import AUTHENTICATION
from connect.storage.config_state import SessionKey
from connect.telemetry.spans import outgoing
from connect.worker.background import KeyedQueues

log = logging.getLogger("connect.herder")

#: How long to catch up with the config topic before a change is given up.
CATCH_UP_S = 30.0
_WRITE_TASKS_S = 60.0
#: How soon it is looked again after a session key that was not taken, or that lives for less.
_KEY_AGAIN_S = 1.0
#: How long a new session key takes to every worker, at most, and how far their clocks are apart.
_KEY_SPREADS_MS = 60_000
#: The key of changes that are of no one connector.
_OF_ALL = ""
_WRONG_SIGNATURE = "Internal request contained invalid signature."
#: With task configurations that a follower sends: the offset of the configuration that they were cut for.
CUT_FOR = "X-Connect-Cut-For"

T = TypeVar("T")


class _Signature(NamedTuple):
    """A request's signature, with the key to check it."""

    key: bytes
    signature: str
    algorithm: str


class Leader:
    """The leader's work where this worker leads, requests to the leader elsewhere. Safe to use from many threads.

    Args:
        pool: see `Pool`.
    """

    def __init__(self, pool: Pool) -> None:
        self._settings = pool.worker.config
        self._config = pool.log
        self._member = pool.member
        self._operations = pool.operations
        # What the leader writes is decided on what it wrote before: one change of a connector after another.
        self._changes = KeyedQueues(pool.log.writers)
        self._claimed_since = -1  # for which time of leading the config topic was claimed
        self._next_key: threading.Timer | None = None

    @cached_property
    def _signing(self) -> SigningOptions:
        """Only workers of a group have it."""
        return SigningOptions.parse(self._settings)

    def submit(self, name: str, what: str, work: Callable[[], T]) -> Future[T]:
        """Run a change that only the leader may make, after all its earlier changes of this connector.

        Raises, here or in the future:
            NobodyKnownError: nobody leads at the moment.
            ElsewhereError: another worker leads.
        """

        def run() -> T:
            with self._operations.enter(what, name):
                self.refuse_unless_leader()
                self._claim()
                self._config.read_to_end(CATCH_UP_S)
                return work()

        self.refuse_unless_leader()
        return self._changes.submit(name, run)

    def begin(self, tidy: Callable[[], None]) -> None:
        """A generation begins: if this worker leads it, ensure that there is a session key, then call this."""
        if self._member.role.leader:
            self._changes.submit(_OF_ALL, self._keep_session_keys)
            self._changes.submit(_OF_ALL, tidy)
            for name in list(self._config.state.connectors):
                self.withdraw_tasks(name)

    def withdraw_tasks(self, name: str) -> None:
        """Have this worker, if it leads, write that a stopped connector has no tasks, where it has some.

        A leader that was thought lost may have written them after the stop.
        """

        def withdraw() -> None:
            if self._stopped_with_tasks(name):
                self._config.put_tasks(name, [])

        if self._member.role.leader and self._stopped_with_tasks(name):
            with suppress(ConnectError):  # it leads no more
                self.submit(name, f"taking the tasks of {name}, which is stopped", withdraw)

    def _stopped_with_tasks(self, name: str) -> bool:
        state = self._config.state
        return state.target(name) == "STOPPED" and bool(state.task_ids(name))

    def write_tasks(self, name: str, configs: list[dict[str, str]], cut_for: int) -> None:
        """Have the leader write the task configurations of a connector. Raises ConnectError.

        Args:
            name: of the connector.
            configs: all of them.
            cut_for: the offset of the connector's configuration that they belong to.
        """
        role = self._member.role
        if role.leader:
            put = partial(self.put_tasks, name, configs, cut_for)
            self.submit(name, f"writing the tasks of {name}", put).result(_WRITE_TASKS_S)
            return
        self.ask("POST", f"connectors/{quote(name, safe='')}/tasks", orjson.dumps(configs), {CUT_FOR: str(cut_for)})

    def put_tasks(self, name: str, configs: list[dict[str, str]], cut_for: int | None) -> None:
        """Write task configurations, on the leader's thread.

        They are dropped if the connector has another configuration than the one that they belong to: its owner will
        send new ones, and no task may run with the configuration of one and the converters of the other (P4). None: a
        Java worker does not say which configuration. A connector that was stopped meanwhile has no tasks: its owner
        sends them when it is resumed, and none where a leader stopped it that crashed before it had written so.
        """
        state = self._config.state
        if (not configs or state.target(name) != "STOPPED") and (cut_for is None or cut_for == state.written.get(name)):
            self._config.put_tasks(name, configs)

    def ask(self, method: str, path: str, body: bytes, more: Mapping[str, str] | None = None) -> None:
        """Send the leader a request of this worker, signed under "sessioned" (KIP-507). Raises ConnectError."""
        role = self._member.role
        headers = {**outgoing(), **(more or {})}
        key = self._config.state.session_key
        if role.protocol == "sessioned" and key is not None:
            algorithm = self._signing.algorithm
            headers[peers.SIGNATURE_HEADER] = peers.sign(key.key, body, algorithm)
            headers[peers.ALGORITHM_HEADER] = algorithm
        self._member.peers.send(method, f"{role.leader_url}{path}", body, headers)

    def check_signature(self, body: bytes, headers: Mapping[str, str]) -> None:
        """Check that a worker of this group sent a request.

        Raises:
            BadRequestError: it is not signed, or by an algorithm that is not allowed.
            RebalanceError: there is no key yet to check it with.
            ForbiddenError: the signature is wrong.
        """
        found = self._signature(headers)
        if found is not None and not peers.verify(found.key, body, found.signature, found.algorithm):
            raise ForbiddenError(_WRONG_SIGNATURE)

    def check_headers(self, headers: Mapping[str, str]) -> None:
        """Check by its headers, before the body is read, that a worker of this group may have sent it. Same errors."""
        self._signature(headers)

    def _signature(self, headers: Mapping[str, str]) -> _Signature | None:
        """The signature of a request, None where none is required. Raises as `check_signature`."""
        # Where users have to log in, workers have to prove who they are, whatever the group agreed on.
        if self._member.role.protocol != "sessioned" and not self._settings[AUTHENTICATION]:
            return None
        signature, algorithm = headers.get(peers.SIGNATURE_HEADER), headers.get(peers.ALGORITHM_HEADER)
        key = self._config.state.session_key
        allowed = {name.lower() for name in self._signing.verified_algorithms}
        if not signature or not algorithm:
            raise BadRequestError("Internal request missing required signature")
        if algorithm.lower() not in allowed:
            names = ", ".join(self._signing.verified_algorithms)
            raise BadRequestError(
                f"This worker does not support the '{algorithm}' key signing algorithm used by other workers. This"
                f" worker is currently configured to use: [{names}]. Check that all workers' configuration files permit"
                " the same set of signature algorithms, and correct any misconfigured worker and restart it."
            )
        if key is None:
            raise RebalanceError("There is no session key yet; the request may be sent again in a moment")
        if len(signature) != len(peers.sign(key.key, b"", algorithm)):
            raise ForbiddenError(_WRONG_SIGNATURE)
        return _Signature(key.key, signature, algorithm)

    def key_settled(self) -> bool:
        """Whether all workers have the session key: it was not written just now, and the next one is not due."""
        key = self._config.state.session_key
        if key is None:
            return False
        lives = self._signing.key_ttl_ms
        return _KEY_SPREADS_MS < int(time.time() * 1000) - key.created_ms < lives - _KEY_SPREADS_MS

    def close(self) -> None:
        """Begin no change from now on."""
        if self._next_key is not None:
            self._next_key.cancel()
        self._changes.close()

    def url(self) -> str | None:
        """The leader's URL; None where it is this worker. Raises NobodyKnownError."""
        role = self._member.role
        known = role.leader or role.leader_url
        if not known or role.generation < 0 or not self._member.live():
            raise NobodyKnownError
        return None if role.leader else role.leader_url

    def refuse_unless_leader(self) -> None:
        """Raise as `submit` does."""
        if self.url() is not None:
            raise ElsewhereError

    def _claim(self) -> None:
        """With exactly-once sources: fence the previous leader and its open transactions on the config topic.

        Repeated where another worker may have led in between. Raises ConnectError.
        """
        since = self._member.role.since
        if not self._config.claimed or since != self._claimed_since:
            self._config.claim()
            self._claimed_since = since

    def _keep_session_keys(self) -> None:
        """While this worker leads: create a session key when there is none, and replace it when it is too old."""
        role = self._member.role
        if not role.leader or role.protocol != "sessioned":
            return
        lives = self._signing.key_ttl_ms
        key = self._config.state.session_key
        now_ms = int(time.time() * 1000)
        if key is None or now_ms >= key.created_ms + lives:
            self._put_session_key(now_ms)
            key = self._config.state.session_key
        left = _KEY_AGAIN_S if key is None else max(_KEY_AGAIN_S, (key.created_ms + lives - now_ms) / 1000)
        if self._next_key is not None:
            self._next_key.cancel()
        self._next_key = threading.Timer(left, self._changes.submit, [_OF_ALL, self._keep_session_keys])
        self._next_key.daemon = True
        self._next_key.start()

    def _put_session_key(self, now_ms: int) -> None:
        size = -(-(self._signing.key_size or 256) // 8)
        algorithm = self._signing.key_algorithm
        try:
            self._claim()
            self._config.put_session_key(SessionKey(secrets.token_bytes(size), algorithm, now_ms))
        except ConnectError as error:
            log.warning("No session key was published: %s", error)
