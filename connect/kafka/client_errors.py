"""What a client of librdkafka says of its connections: told once, and an end where the brokers do not let it in.

librdkafka tries for ever, whatever is wrong. A broker that is away is worth it. One that refuses the login, or whose
certificate is not trusted, says the same tomorrow, until somebody changes something. But a broker that has only just
started may refuse whom it lets in a moment later, and one of several may be set up wrongly: so it takes some refusals
in a row, over some seconds, and nobody who answers then.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from connect.errors import ConnectError

log = logging.getLogger("connect.kafka")

_TIMES: Final = 3
_FOR_S: Final = 3.0
#: How long the brokers have for the question that decides.
_ANSWER_S: Final = 2.0
_LOOK_S: Final = 1.0
#: A refusal that comes so long after the last one has nothing to do with it.
_ROW_S: Final = 30.0
_SAY_AGAIN_S: Final = 300.0

# Librdkafka's words. It begins with the broker's address, and ends with what changes from one try to the next.
_PLACE: Final = re.compile(r"^\S+://\S+: ")
_CHANGING: Final = re.compile(r" \(after \d+ms in state .*|, \d+ identical error\(s\) suppressed.*")
_UNTRUSTED: Final = "certificate verify failed"
_OURS_REFUSED: Final = re.compile(r"alert (\w+ )?certificate|certificate required|alert unknown ca")
_TOKEN: Final = "OAUTHBEARER token"  # noqa: S105 - none was had: the server that gives them may be away as well


class NotLetInError(ConnectError):
    """The brokers refuse the login, or one side does not trust the other's certificate.

    Attributes:
        key: the setting to look at.
    """

    def __init__(self, message: str, key: str) -> None:
        super().__init__(message)
        self.key = key


class ClientErrors:
    """Hears one client's error callback. Called from the thread that polls the client.

    Args:
        settings: librdkafka's, of the client.
        keys: for security settings under Java's names, the keys under which the user wrote them, where they differ.
        clock: seconds, going forward only.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        keys: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._servers = str(settings.get("bootstrap.servers", ""))
        self._mechanism = str(settings.get("sasl.mechanism", "SASL"))
        self._keys = keys or {}
        self._clock = clock
        self._said: dict[str, float] = {}
        self._refusal: NotLetInError | None = None
        self._times = 0
        self._first = self._last = 0.0

    @property
    def refusal(self) -> NotLetInError | None:
        """How the brokers refuse the client, if they do for now."""
        return self._refusal

    def soon(self, seconds: float) -> float:
        """How long to wait for an answer that may take so long, before `check` looks at what was heard."""
        return seconds if self._refusal is None else min(seconds, _LOOK_S)

    def hear(self, error: Any) -> None:
        """Take an error that is not fatal. A refusal is not logged: `check` decides what it is."""
        refusal = self._refusal_in(error)
        if refusal is None:
            if self._refusal is None or error.name() != "_ALL_BROKERS_DOWN":
                self.say(f"{error.str()}. Trying again; nothing is lost.")
            return
        now = self._clock()
        if self._refusal is None or now - self._last > _ROW_S:
            self._times, self._first = 0, now
        self._refusal, self._last = refusal, now
        self._times += 1

    def check(self, client: Any = None) -> None:
        """Raise where trying on is of no use. Quick, but while brokers refuse.

        Args:
            client: asked whether any broker answers, in two seconds; None: it was asked just now, and none did.

        Raises:
            NotLetInError: the brokers refuse this client, and not only for a moment.
        """
        if self._refusal is None or self._times < _TIMES or self._last - self._first < _FOR_S:
            return
        if client is None or not _answered(client):
            raise self._refusal
        self.say(f"{self._refusal} A broker lets us in now: going on.")
        self._refusal = None

    def say(self, problem: str) -> None:
        """Log a warning, unless it was logged not long ago."""
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
            words += f" trust store ({key}); the names in bootstrap.servers have to stand in the brokers' own."
        elif _OURS_REFUSED.search(said):
            key = self._key("ssl.keystore.location")
            words = f"The {brokers} want a certificate of ours that they trust: {why}. Check {key}."
        elif error.name() != "_AUTHENTICATION" or _TOKEN in said:
            return None
        elif "mechanism handshake failed" in said:
            key = self._key("sasl.mechanism")
            words = f"The {brokers} do not take {self._mechanism}: {why}. Set {key} to one that they have."
        else:
            key = self._key("sasl.jaas.config")
            check = "client and secret" if self._mechanism == "OAUTHBEARER" else "user and password"
            words = f"The {brokers} refuse the login by {self._mechanism}: {why}. Check {check} in {key}."
        return NotLetInError(words, key)

    def _key(self, key: str) -> str:
        return self._keys.get(key, key)


def is_away(error: Any) -> bool:
    """Whether an error of a question says that no broker answers, or that the same question may be answered later."""
    return error.name() in ("_TRANSPORT", "_ALL_BROKERS_DOWN", "_TIMED_OUT") or bool(error.retriable())


def _answered(client: Any) -> bool:
    from confluent_kafka import KafkaException

    try:
        client.list_topics(timeout=_ANSWER_S)
    except KafkaException:
        return False
    return True
