"""Errors of a librdkafka client's connections: each logged once, and fatal where the brokers refuse the client.

librdkafka retries forever, whatever is wrong. That is right while brokers are unavailable: an outage (see
`connect.telemetry.outages`) is over when one answers. A broker that refuses the login, or whose certificate is not
trusted, answers the same tomorrow, until a user changes something. But a broker that has just started may refuse a
login that it accepts a moment later, and one of several may be misconfigured: so a refusal is final only after some in
a row, over some seconds, without an answer of any broker.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from connect.errors import ConnectError
from connect.telemetry.outages import Wait, Waiter

log = logging.getLogger("connect.kafka")

_TIMES: Final = 3
_FOR_S: Final = 3.0
#: How long the brokers have for the question that decides.
_ANSWER_S: Final = 2.0
_LOOK_S: Final = 1.0
#: And for the question whether they are back, which is asked every second by the thread that polls the client.
_BACK_S: Final = 0.3
#: So long after one broker was lost it is known whether others answer.
_OTHERS_S: Final = 2.0
#: A refusal that comes so long after the last one has nothing to do with it.
_ROW_S: Final = 30.0
_SAY_AGAIN_S: Final = 300.0

# Librdkafka's words. It begins with the broker's address, and ends with what changes from one try to the next.
_PLACE: Final = re.compile(r"^\w+://\S+: ")
_CHANGING: Final = re.compile(r" \(after \d+ms in state .*|, \d+ identical error\(s\) suppressed.*")
_UNTRUSTED: Final = "certificate verify failed"
_OURS_REFUSED: Final = re.compile(r"alert (\w+ )?certificate|certificate required|alert unknown ca")
_LOST: Final = ("_TRANSPORT", "_RESOLVE", "_TIMED_OUT")
_ANY_TOPIC: Final = "__consumer_offsets"
_TOKEN: Final = "OAUTHBEARER token"  # noqa: S105 - none was had: the server that gives them may be away as well


class NotLetInError(ConnectError):
    """The brokers refuse the login, or one side does not trust the other's certificate.

    Attributes:
        key: the setting to check.
        exit_code: as of `AdminError`.
    """

    exit_code = 3

    def __init__(self, message: str, key: str) -> None:
        super().__init__(message)
        self.key = key


class ClientErrors:
    """Handles one client's error callback. Called on the thread that polls the client.

    Args:
        settings: librdkafka's, of the client.
        keys: for security settings under Java's names, the keys under which the user wrote them, where they differ.
        clock: seconds, monotonic.
        name: of the waiter while no broker answers.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        keys: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
        name: str = "",
    ) -> None:
        self._servers = str(settings.get("bootstrap.servers", ""))
        self._mechanism = str(settings.get("sasl.mechanism", "SASL"))
        self._keys = keys or {}
        self._clock = clock
        self._said: dict[str, float] = {}
        self._refusal: NotLetInError | None = None
        self._times = 0
        self._first = self._last = 0.0
        self._waiter = Waiter(name)
        self._lost: tuple[str, float] | None = None  # the broker that was lost last, in librdkafka's words, and when
        self._alone_until = 0.0  # up to when others are taken to answer, as they did when one was lost
        self._look_due: float | None = None  # while no broker answers: when to ask again

    @property
    def refusal(self) -> NotLetInError | None:
        """How the brokers refuse the client, if they do for now."""
        return self._refusal

    @property
    def wait(self) -> Wait | None:
        """Since when no broker answers, if none does."""
        return self._waiter.wait

    def soon(self, seconds: float) -> float:
        """How long to wait for an answer that may take this long, before `check` evaluates the errors."""
        return seconds if self._refusal is None else min(seconds, _LOOK_S)

    def hear(self, error: Any) -> None:
        """Handle an error that is not fatal. A refusal is not logged: `check` decides about it."""
        refusal = self._refusal_in(error)
        if refusal is None:
            if self._refusal is None or error.name() != "_ALL_BROKERS_DOWN":
                self._take(error)
            return
        now = self._clock()
        if self._refusal is None or now - self._last > _ROW_S:
            self._times, self._first = 0, now
        self._refusal, self._last = refusal, now
        self._times += 1

    def _take(self, error: Any) -> None:
        if error.name() == "_ALL_BROKERS_DOWN":
            if self._look_due is None:
                self._away("" if self._lost is None else self._lost[0])
                self._lost = None
        elif error.name() not in _LOST:
            self.say(f"{error.str()}. Trying again; nothing is lost.")
        elif self._look_due is not None:
            self._away(error.str())
        elif self._lost is None and self._clock() >= self._alone_until:
            self._lost = error.str(), self._clock()

    def unanswered(self, error: Any) -> None:
        """A request was not answered, see `is_away`, and is retried."""
        if error.name() in (*_LOST, "_ALL_BROKERS_DOWN"):
            self._away(error.str())
        else:
            self.say(f"{error.str()}. Trying again; nothing is lost.")

    def answered(self) -> None:
        """A request was answered."""
        if self._look_due is not None:
            self._look_due = self._lost = None
            self._waiter.goes_on()

    def _away(self, said: str) -> None:
        self._look_due = self._look_due or self._clock() + _LOOK_S
        why = f": {_CHANGING.sub('', said)}" if said else ""
        self._waiter.waits(f"No broker answers at {self._servers}{why}.", what=away_from(self._servers))

    def close(self) -> None:
        """The client is closed."""
        self._look_due = None
        self._waiter.leaves()

    def check(self, client: Any = None) -> None:
        """Raise where a retry is pointless. Quick, except while brokers refuse or do not answer.

        Args:
            client: asked whether any broker answers, in two seconds; None: it was asked just now, and none did.

        Raises:
            NotLetInError: the brokers refuse this client, and not only for a moment.
        """
        self.look(client)
        if self._refusal is None or self._times < _TIMES or self._last - self._first < _FOR_S:
            return
        if client is None or not _answered(client):
            raise self._refusal
        self.say(f"{self._refusal} A broker accepts the login now: continuing.")
        self._refusal = None

    def look(self, client: Any) -> None:
        """Find out whether brokers that were unavailable are back, and whether one that was lost was the last.

        librdkafka does not report for every client that all of its brokers are down.
        """
        now = self._clock()
        if self._look_due is not None:
            if client is not None and now >= self._look_due:
                self._look_due = now + _LOOK_S
                if _answered(client, _BACK_S):
                    self.answered()
        elif self._lost is not None and client is not None and now - self._lost[1] >= _OTHERS_S:
            (said, _), self._lost = self._lost, None
            if _answered(client, _BACK_S):
                self._alone_until = now + _ROW_S
                self.say(f"{said}. Trying again; nothing is lost.")
            else:
                self._away(said)

    def say(self, problem: str) -> None:
        """Log a warning, unless it was logged recently."""
        text, now = _CHANGING.sub("", problem), self._clock()
        if now - self._said.get(text, -_SAY_AGAIN_S) >= _SAY_AGAIN_S:
            self._said[text] = now
            log.warning("%s", problem)

    def _refusal_in(self, error: Any) -> NotLetInError | None:
        said = error.str()
        why = _CHANGING.sub("", _PLACE.sub("", said))
        brokers = f"brokers at {self._servers}"
        if _UNTRUSTED in said:
            key = self._key("ssl.truststore.location")
            words = f"The certificate of the {brokers} is not trusted: {_UNTRUSTED}. Put that of its authority into the"
            words += f" trust store ({key}); the names in bootstrap.servers must be in the brokers' own."
        elif _OURS_REFUSED.search(said):
            key = self._key("ssl.keystore.location")
            words = f"The {brokers} want a certificate of ours that they trust: {why}. Check {key}."
        elif error.name() != "_AUTHENTICATION" or _TOKEN in said:
            return None
        elif "mechanism handshake failed" in said:
            key = self._key("sasl.mechanism")
            words = f"The {brokers} refuse {self._mechanism}: {why}. Set {key} to one that they have."
        else:
            key = self._key("sasl.jaas.config")
            check = "client and secret" if self._mechanism == "OAUTHBEARER" else "user and password"
            words = f"The {brokers} refuse the login by {self._mechanism}: {why}. Check {check} in {key}."
        return NotLetInError(words, key)

    def _key(self, key: str) -> str:
        return self._keys.get(key, key)


def is_away(error: Any) -> bool:
    """Whether an error says that no broker answers, or that the same request may succeed later."""
    return error.name() in ("_TRANSPORT", "_ALL_BROKERS_DOWN", "_TIMED_OUT") or bool(error.retriable())


def away_from(servers: str) -> str:
    """What is waited for while none of these brokers answers; see `connect.telemetry.outages.Wait`."""
    return f"brokers {','.join(sorted(each.strip() for each in servers.split(',')))}"


def _answered(client: Any, within: float = _ANSWER_S) -> bool:
    from confluent_kafka import KafkaException

    try:
        client.list_topics(_ANY_TOPIC, timeout=within)  # of all topics it may take long
    except KafkaException:
        return False
    return True
