"""A client of a REST API: it logs in, respects rate limits, retries, and lets a task end while it waits.

For example, in a source:

    def start(self, config):
        self._api = RestClient("https://shop.example", login=bearer(token), stopping=self.context.stopping)
        self.context.exit_stack.callback(self._api.close)

    def poll(self):
        answer = self._api.ask(Request("https://shop.example/orders"))
        return None if answer is None else [self._record(order) for order in json_of(answer)]

A sink calls `send` on threads of its own, and decides itself what it retries.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote_plus, urljoin, urlsplit

from connect import RetriableError, __version__
from connect.http import Answer, Connections, NoAnswerError, machine_proxy, words
from connect.kit.answers import unpacked
from connect.kit.failures import PASSING, RestError, origin, phrase, shown
from connect.kit.logins import Login
from connect.kit.queries import secrets_of
from connect.kit.rates import RateLimit
from connect.kit.retries import RetryBudget

#: How long `ask` waits before it gives its thread back, and how often it looks whether the task is to end.
_PATIENCE_S: Final = 0.9
_LOOK_S: Final = 0.05
_MOST_REDIRECTS: Final = 5


@dataclass(frozen=True, slots=True)
class Request:
    """A request.

    Attributes:
        url: http:// or https://; a login in it is removed.
        method: of HTTP.
        body: None sends none.
        headers: beside those that the client has for all requests.
    """

    url: str
    method: str = "GET"
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


class Redirected(Answer):
    """A response that came after redirections.

    Attributes:
        url: where it came from: what relative links in it are relative to.
    """

    url: str = ""


class RestClient:
    """Sends requests to one server, over connections that are kept open.

    Its login is sent to that server alone. A redirection of GET is followed within it, and nowhere else.

    Args:
        url: any URL of the server.
        login: None for none.
        headers: of all requests. They are sent to this server alone, too.
        limits: rate limits; responses extend them.
        retries: the number of retries of `ask`.
        stopping: whether the task has to end; `ask` stops waiting then. `context.stopping` of a source.
        timeout, connect_timeout: seconds for a silent server; for a connection.
        tls: for https; by default the authorities that Python trusts.
        proxy: for a URL; by default that of this machine's variables.
        most_bytes: the maximum size of a response. A longer one is an error.
        seen: called, for metrics, with the status (0 for none) and the seconds of a request.
    """

    def __init__(
        self,
        url: str,
        *,
        login: Login | None = None,
        headers: Mapping[str, str] | None = None,
        limits: RateLimit | None = None,
        retries: RetryBudget | None = None,
        stopping: Callable[[], bool] = lambda: False,
        timeout: float = 30.0,
        connect_timeout: float = 10.0,
        tls: ssl.SSLContext | None = None,
        proxy: Callable[[str], str | None] = machine_proxy,
        most_bytes: int = 64 << 20,
        seen: Callable[[int, float], object] = lambda *_: None,
    ) -> None:
        self.where = origin(url)
        self.limits = limits or RateLimit()
        self._login = login
        own = {"User-Agent": f"connect-runtime/{__version__}", "Accept": "*/*"}
        self._headers = _together(own, headers or {})
        self._retries = retries or RetryBudget(10, 1.0, longest=60.0, waits_for=self.where)
        self._stopping = stopping
        self._connections = Connections(timeout=timeout, connect_timeout=connect_timeout, tls=tls, proxy=proxy)
        self._most_bytes = most_bytes
        self._seen = seen
        self._asked: tuple[Request, Future[Answer]] | None = None

    def ask(self, request: Request) -> Answer | None:
        """The response to a request, for a source's `poll`: retried, at the pace that the server allows.

        Returns within about a second. None: there is no response yet, or the task has to end. Call it with the same
        request again then.

        Raises:
            RetriableError: the server is unavailable now. Let `poll` raise it, and call this again in the next one.
            RestError: the server refuses.
            ConnectError: it was retried often enough.
        """
        until = time.monotonic() + _PATIENCE_S
        if self._asked is None:
            if not self._wait(self._retries.due if self._retries.pending else 0.0, until):
                self._retries.check()
                return None
            while left := self.limits.turn():
                if not self._wait(time.monotonic() + left, until):
                    if left > _PATIENCE_S and not self._stopping():
                        raise RetriableError(
                            f"{self.where} allows the next request in {left:.0f} s.", waits_for=self.where
                        )
                    return None
            self._retries.check()
            self._asked = (request, self._in_a_thread(request))
        asked, coming = self._asked
        if asked != request:
            raise ValueError("Another request has no answer yet.")
        answer = self._answered(coming, until)
        if answer is not None:
            self._retries.worked()
        return answer

    def send(self, request: Request) -> Answer:
        """Send a request now, and wait for a response of 2xx. After 401 it is sent once more if the login has changed.

        Raises:
            RestError: there was no such response.
        """
        if origin(request.url) != self.where:
            raise RestError(f"{origin(request.url)} is another server than {self.where}, and is not shown its login.")
        carried = self._carried()
        answer = self._exchange(request, carried)
        if answer.status == 401 and self._login and self._login.refused(carried):
            carried = self._carried()
            answer = self._exchange(request, carried)
        headers = {name.lower(): value for name, value in answer.headers}
        pause = self.limits.seen(answer.status, headers)
        if 200 <= answer.status < 300 or answer.status == 304:
            return answer
        in_query = secrets_of(request.url).values()  # which a server may tell in its answer
        secrets = [*carried.values(), *self._headers.values(), *in_query, *map(unquote_plus, in_query)]
        raise self._failure(request, answer, pause, secrets)

    def close(self) -> None:
        """Close the connections. Waiting calls get RestError."""
        self._connections.close()

    # Inside.

    def _carried(self) -> Mapping[str, str]:
        """The headers of the login."""
        carried = self._login.headers() if self._login else {}
        for name, value in carried.items():
            if not (value.isascii() and value.isprintable()):  # Python's own error would show it
                raise RestError(
                    f"The login for {self.where}, the header {name}, has a character that no header can have: a line "
                    "break, for example."
                )
        return carried

    def _exchange(self, request: Request, carried: Mapping[str, str]) -> Answer:
        url = request.url
        for _ in range(_MOST_REDIRECTS):
            answer = self._once(request, url, carried)
            if request.method not in ("GET", "HEAD") or answer.status not in (301, 302, 303, 307, 308):
                if url != request.url:
                    answer = Redirected(*answer)
                    answer.url = url
                return answer
            further = _led_to(url, answer)
            if not further or origin(further) != self.where:
                return answer
            url = further
        return answer

    def _once(self, request: Request, url: str, carried: Mapping[str, str]) -> Answer:
        began = time.monotonic()
        status = 0
        try:
            answer = self._connections.exchange(
                request.method,
                url,
                request.body,
                _together(self._headers, request.headers, carried),
                most_bytes=self._most_bytes,
            )
            status = answer.status
            return unpacked(answer, self._most_bytes)
        except NoAnswerError as error:
            raise self._unreached(error) from error
        finally:
            self._seen(status, time.monotonic() - began)

    def _unreached(self, error: NoAnswerError) -> RestError:
        reason = error.reason
        if isinstance(reason, ssl.SSLCertVerificationError):
            return RestError(
                f"{self.where} shows a certificate that is not trusted: {reason.verify_message}. Name a store with the "
                "certificate of who issued it."
            )
        if isinstance(reason, TimeoutError):
            return RestError(f"{self.where} did not answer in time.", passing=True)
        # What is too long now is so the next time.
        return RestError(f"{error}.", passing="longer than" not in words(reason))

    def _failure(self, request: Request, answer: Answer, pause: float, secrets: list[str]) -> RestError:
        status = answer.status
        said = shown(answer.content, secrets)
        told = f"{self.where} answers {phrase(status)} to {request.method}{f': {said}' if said else ''}."
        if 300 <= status < 400:
            told = f"{told} {self._not_followed(request, answer, secrets)}"
        elif status in (401, 403) and not pause:
            told = f"{told} Check the login and its rights."
        # GitHub says 403 where a rate limit is reached.
        return RestError(told, status=status, passing=status in PASSING or (status == 403 and pause > 0), pause=pause)

    def _not_followed(self, request: Request, answer: Answer, secrets: list[str]) -> str:
        """Why a redirection was not followed, and where it leads to, without a query, which may be secret."""
        target = _led_to(request.url, answer)
        place = shown(f"{origin(target)}{urlsplit(target).path}".encode(), secrets) if target else ""
        if not place:
            return "It does not say where that is: correct the address."
        if request.method not in ("GET", "HEAD"):
            return f"It leads to {place}. A {request.method} is not redirected: write the address that it leads to."
        if origin(target) == self.where:
            return f"It leads to {place}, after {_MOST_REDIRECTS} redirections: more are not followed."
        return (
            f"It leads to {place}. Redirections to other servers are not followed: write the address that it leads to."
        )

    def _answered(self, coming: Future[Answer], until: float) -> Answer | None:
        while not self._stopping():
            try:
                answer = coming.result(min(_LOOK_S, max(0.001, until - time.monotonic())))
            except NotYet:
                if not coming.done() and time.monotonic() < until:
                    continue
                if not coming.done():
                    return None
                continue
            except RestError as error:
                self._asked = None
                if not error.passing:
                    raise
                raise self._retries.failed(str(error), at_least=error.pause) from error
            except BaseException:
                self._asked = None
                raise
            self._asked = None
            return answer
        return None

    def _in_a_thread(self, request: Request) -> Future[Answer]:
        """Send on a thread that can be abandoned: a task has less time to end than a response may take."""
        promised: Future[Answer] = Future()

        def run() -> None:
            try:
                promised.set_result(self.send(request))
            except BaseException as error:
                promised.set_exception(error)

        threading.Thread(target=run, name="rest-request", daemon=True).start()
        return promised

    def _wait(self, moment: float, until: float) -> bool:
        """Wait for a moment. False when it is not reached in time, or the task has to end."""
        while (now := time.monotonic()) < moment:
            if now >= until or self._stopping():
                return False
            time.sleep(min(_LOOK_S, max(0.001, min(moment, until) - now)))
        return True


def _led_to(url: str, answer: Answer) -> str:
    """Where a redirection of a URL leads to. Empty where it does not say, or not with a URL."""
    location = next((value for name, value in answer.headers if name.lower() == "location"), "")
    try:
        found = urljoin(url, location)
        return found if location and origin(found) else ""
    except ValueError:
        return ""


def _together(*several: Mapping[str, str]) -> dict[str, str]:
    """All of these headers. Of one that is there twice, in whatever case its name is written, the last."""
    return dict({name.lower(): (name, value) for each in several for name, value in each.items()}.values())
