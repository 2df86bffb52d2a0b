"""Requests to the API, through tweepy. The only module that uses it, imported when a task starts.

tweepy makes the parameters of each endpoint, signs with OAuth 1.0a and has the rules' requests. Three things of it are
unsuitable: its host is fixed, where it is a key here, so that tests can use a server of their own; it writes headers
with credentials into its debug log; and its stream sleeps between tries without a way to wake it, and drops the text of
errors. So `request`, through which all its requests go, is overridden, and so is the connection of the stream.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Any, Final

import orjson
import requests
import tweepy
import urllib3

from connect import __version__
from connect.api.metrics import PluginMetrics
from connectors.twitter import failures, keys
from connectors.twitter.connection import Connection
from connectors.twitter.failures import ApiError, Interrupted, Kind, Limits
from connectors.twitter.keys import TwitterOptions

#: They write what is secret, or part of it, into their debug logs.
_TALKATIVE: Final = (
    "oauthlib.oauth1.rfc5849",
    "oauthlib.oauth1.rfc5849.endpoints.base",
    "oauthlib.oauth1.rfc5849.signature",
    "oauthlib.oauth1.rfc5849.parameters",
    "requests_oauthlib.oauth1_auth",
    "requests_oauthlib.oauth1_session",
    "requests_oauthlib.oauth2_session",
    "tweepy.client",
    "tweepy.streaming",
)

#: How often somebody who waits for an answer looks whether the task is to end.
_LOOK_S: Final = 0.1

STREAM: Final = "stream"
RULES: Final = "rules"
SEARCH: Final = "search"
TIMELINE: Final = "timeline"
USERS: Final = "users"
_NAMES: Final = {
    STREAM: "the filtered stream",
    RULES: "the rules of the stream",
    SEARCH: "recent search",
    TIMELINE: "a user's timeline",
    USERS: "the look-up of users",
}


class Api:
    """One user of the API. For one thread.

    All methods raise `ApiError`, and `Interrupted` when the task has to end.

    Args:
        options: the task's keys.
        configs: the same, raw: credentials are read there.
        metrics: of the task.
        stopping: whether the task has to end; responses are not waited for then.
    """

    def __init__(
        self,
        options: TwitterOptions,
        configs: Mapping[str, str],
        metrics: PluginMetrics,
        stopping: Callable[[], bool],
    ) -> None:
        _silence()
        self._stopping = stopping
        self._metrics = metrics
        self.limits = Limits(metrics)
        self._base = options.base_url.rstrip("/")
        self._connect_s = options.connect_timeout
        self._silent_s = options.request_timeout
        self._keepalive_s = options.stream_keepalive_timeout
        self._by_token = bool(configs.get(keys.TOKEN))
        self._client: Any = None
        self._rules: Any = None
        names = (keys.TOKEN,) if self._by_token else keys.OAUTH
        self._credentials = tuple(str(configs.get(name) or "") for name in names)
        #: How long the last answer was.
        self.answered_bytes = 0

    def search(self, query: str, **parameters: Any) -> dict[str, Any]:
        """A page of posts of the last seven days, the newest first."""
        answer = self._ask(
            lambda: self._posts().search_recent_tweets(query, user_auth=not self._by_token, **parameters)
        )
        return _json(answer)

    def timeline(self, user: str, **parameters: Any) -> dict[str, Any]:
        """A page of a user's posts, the newest first."""
        return _json(
            self._ask(lambda: self._posts().get_users_tweets(user, user_auth=not self._by_token, **parameters))
        )

    def users(self, names: Sequence[str]) -> dict[str, Any]:
        """Users by their names, 100 at most."""
        wanted = list(names)
        return _json(self._ask(lambda: self._posts().get_users(usernames=wanted, user_auth=not self._by_token)))

    def rules(self) -> list[dict[str, Any]]:
        """Every rule of the app: `id`, `value` and perhaps `tag`."""
        found: list[dict[str, Any]] = []
        token: str | None = None
        while True:
            # tweepy's get_rules knows no pages, and gives the first thousand.
            parameters = {"pagination_token": token} if token else {}
            answer = _json(self._ask(lambda: self._streaming().request("GET", _RULES, parameters)))  # noqa: B023
            found += answer.get("data") or []
            token = (answer.get("meta") or {}).get("next_token")
            if not token:
                return found

    def add_rules(self, rules: Sequence[tuple[str, str]], *, dry_run: bool = False) -> dict[str, Any]:
        """Add rules, pairs of value and tag. Their errors are in `errors` of the response."""
        added = [tweepy.StreamRule(value=value, tag=tag) for value, tag in rules]
        more = {"dry_run": "true"} if dry_run else {}
        try:
            return _json(self._ask(lambda: self._streaming().add_rules(added, **more)))
        except ApiError as error:
            # Where none of them is good the status tells so as well.
            if error.status in (400, 409, 422) and isinstance(error.problem.get("errors"), list):
                return dict(error.problem)
            raise

    def delete_rules(self, rule_ids: Sequence[str]) -> None:
        """Delete rules. Missing ones are no error."""
        self._ask(lambda: self._streaming().delete_rules(list(rule_ids)))

    def stream(self, backfill_minutes: int, fields: Mapping[str, list[str]]) -> Connection:
        """Connect to the filtered stream."""
        parameters = {**fields, **({"backfill_minutes": backfill_minutes} if backfill_minutes else {})}

        def connect() -> Any:
            client = self._streaming()
            asked = client._process_params(parameters, _STREAM_PARAMETERS)
            return self._send(client, "GET", _STREAM_PATH, params=asked, stream=True)

        response = self._ask(connect)
        return Connection(response.raw, response.headers.get("Date"), self._keepalive_s)

    def close(self) -> None:
        """Close connections."""
        for client in (self._client, self._rules):
            if client is not None:
                client.session.close()

    # Inside.

    def _ask(self, call: Callable[[], Any]) -> Any:
        """Call on a thread that can be abandoned: a task has less time to end than a response may take."""
        answers: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()

        def work() -> None:
            try:
                answers.put((call(), None))
            except BaseException as error:
                answers.put((None, error))

        threading.Thread(target=work, name="twitter-request", daemon=True).start()
        while True:
            try:
                answer, error = answers.get(timeout=_LOOK_S)
            except Empty:
                if self._stopping():
                    raise Interrupted from None
                continue
            if error is not None:
                raise error
            return answer

    def _posts(self) -> Any:
        if self._client is None:
            if self._by_token:
                self._client = _Client(self, self._credentials[0], return_type=requests.Response)
            else:
                self._client = _Client(self, None, *self._credentials, return_type=requests.Response)
        return self._client

    def _streaming(self) -> Any:
        if self._rules is None:
            self._rules = _StreamingClient(self, self._credentials[0], return_type=requests.Response)
        return self._rules

    def _send(
        self,
        client: Any,
        method: str,
        path: str,
        *,
        params: Any = None,
        json: Any = None,
        user_auth: bool = False,
        stream: bool = False,
    ) -> Any:
        endpoint = _endpoint(path)
        headers = {"User-Agent": f"connect-runtime/{__version__} tweepy/{tweepy.__version__}"}
        auth = None
        if user_auth:
            auth = tweepy.OAuth1UserHandler(*self._credentials).apply_auth()
        else:
            headers["Authorization"] = f"Bearer {client.bearer_token}"
        began = time.monotonic()
        try:
            response = client.session.request(
                method,
                self._base + path,
                params=params,
                json=json,
                headers=headers,
                auth=auth,
                stream=stream,
                # Neither credentials nor trust go where an answer points to.
                allow_redirects=False,
                timeout=(self._connect_s, self._keepalive_s if stream else self._silent_s),
            )
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            raise _unreached(self._base, endpoint, error) from error
        finally:
            self._metrics.observe("twitter_request_seconds", time.monotonic() - began, operation=endpoint)
        reset = self.limits.seen(endpoint, response.headers)
        if 200 <= response.status_code < 300:
            self.answered_bytes = 0 if stream else len(response.content)
            return response
        try:
            problem = orjson.loads(response.content)
        except (orjson.JSONDecodeError, requests.RequestException, urllib3.exceptions.HTTPError):
            problem = {}
        finally:
            response.close()
        raise failures.of_answer(
            _NAMES[endpoint], response.status_code, problem if isinstance(problem, dict) else {}, reset
        )


_STREAM_PATH: Final = "/2/tweets/search/stream"
_RULES: Final = "/2/tweets/search/stream/rules"
_STREAM_PARAMETERS: Final = (
    "backfill_minutes",
    "expansions",
    "media.fields",
    "place.fields",
    "poll.fields",
    "tweet.fields",
    "user.fields",
)


class _Client(tweepy.Client):  # type: ignore[misc]  # tweepy has no types
    """tweepy's client, with requests of this class."""

    def __init__(self, api: Api, *credentials: str | None, **options: Any) -> None:
        super().__init__(*credentials, **options)
        self._api = api

    def request(
        self, method: str, route: str, params: Any = None, json: Any = None, user_auth: bool = False
    ) -> requests.Response:
        response: requests.Response = self._api._send(
            self, method, route, params=params, json=json, user_auth=user_auth
        )
        return response


class _StreamingClient(tweepy.StreamingClient):  # type: ignore[misc]  # tweepy has no types
    """The same for the rules of the stream."""

    def __init__(self, api: Api, token: str, **options: Any) -> None:
        super().__init__(token, **options)
        self._api = api

    request = _Client.request


def _endpoint(path: str) -> str:
    if path == _STREAM_PATH:
        return STREAM
    if path == _RULES:
        return RULES
    if path.startswith("/2/tweets/search/"):
        return SEARCH
    return TIMELINE if path.endswith("/tweets") else USERS


def _json(response: Any) -> dict[str, Any]:
    try:
        found = orjson.loads(response.content)
    except (orjson.JSONDecodeError, requests.RequestException, urllib3.exceptions.HTTPError) as error:
        raise ApiError(f"X answered with something that is not JSON: {error}.", Kind.HTTP, "malformed") from error
    if not isinstance(found, dict):
        raise ApiError("X answered with something that is not an object of JSON.", Kind.HTTP, "malformed")
    return found


def _unreached(base: str, endpoint: str, error: Exception) -> ApiError:
    """Why there was no response. Never with the text of the request, which may contain anything."""
    if isinstance(error, requests.exceptions.SSLError):
        return ApiError(
            f"{base} shows a certificate that is not trusted. Look at twitter.base.url, and at the authorities that "
            "this machine trusts (REQUESTS_CA_BUNDLE).",
            Kind.FATAL,
            "refused",
        )
    if isinstance(error, requests.Timeout | TimeoutError):
        return ApiError(f"{base} did not answer for {_NAMES[endpoint]} in time.", Kind.NETWORK, "timeout")
    inmost: BaseException = error
    while (inner := inmost.__cause__ or inmost.__context__) is not None:
        inmost = inner
    return ApiError(
        f"{base} cannot be reached for {_NAMES[endpoint]} ({type(inmost).__name__}). Look at the network, or at "
        "twitter.base.url.",
        Kind.NETWORK,
        "unreachable",
    )


class _NoDebug(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno > logging.DEBUG


_NO_DEBUG: Final = _NoDebug()


def _silence() -> None:
    for name in _TALKATIVE:
        logging.getLogger(name).addFilter(_NO_DEBUG)
