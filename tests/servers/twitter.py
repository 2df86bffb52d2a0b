"""A server of X's API v2 as far as the source uses it: the filtered stream, its rules, recent search, timelines, users.

Its answers have the form of X's, and it refuses what X refuses. It runs in a thread, and its methods may be called from
any. Alone, to try the connector without X: `python -m tests.servers.twitter`, which posts something every second.
"""

from __future__ import annotations

import asyncio
import base64
import datetime as dt
import hmac
import itertools
import json
import re
import socket
import sys
import threading
import time
import zlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from tests.servers.twitter_rules import matches, wrong
from tests.support.waiting import until

EPOCH_MS = 1_288_834_974_657
WEEK_S = 7 * 24 * 3600
PROBLEMS = "https://api.twitter.com/2/problems"
TOKEN = "AAAAAAAAAAAAAAAAAAAAAtoken-of-the-tests"

POST_FIELDS = {"id", "text", "edit_history_tweet_ids"}
USER_FIELDS = {"id", "name", "username"}
COMMON = {"tweet.fields", "user.fields", "media.fields", "place.fields", "poll.fields", "expansions"}
PARAMETERS = {
    "stream": COMMON | {"backfill_minutes", "start_time", "end_time"},
    "rules": {"ids", "max_results", "pagination_token", "dry_run"},
    "search": COMMON
    | {"query", "max_results", "next_token", "pagination_token", "since_id", "until_id", "start_time", "end_time"}
    | {"sort_order"},
    "timeline": COMMON
    | {"max_results", "pagination_token", "since_id", "until_id", "start_time", "end_time", "exclude"},
    "users": COMMON | {"usernames"},
}

_FIELDS = {
    "tweet.fields": (
        "article attachments author_id card_uri community_id context_annotations conversation_id created_at "
        "display_text_range edit_controls edit_history_tweet_ids entities geo id in_reply_to_user_id lang "
        "matched_media_notes media_metadata non_public_metrics note_request_suggestions note_tweet organic_metrics "
        "paid_partnership possibly_sensitive promoted_metrics public_metrics referenced_tweets reply_settings scopes "
        "source suggested_source_links suggested_source_links_with_counts text withheld"
    ),
    "user.fields": (
        "affiliation confirmed_email connection_status created_at description entities id is_identity_verified "
        "location most_recent_tweet_id name parody pinned_tweet_id profile_banner_url profile_image_url protected "
        "public_metrics receives_your_dm subscription subscription_type url username verified "
        "verified_followers_count verified_type withheld"
    ),
    "media.fields": (
        "alt_text duration_ms height media_key non_public_metrics organic_metrics preview_image_url promoted_metrics "
        "public_metrics type url variants width"
    ),
    "place.fields": "contained_within country country_code full_name geo id name place_type",
    "poll.fields": "duration_minutes end_datetime id options voting_status",
    "expansions": (
        "article.cover_media article.media_entities attachments.media_keys attachments.media_source_tweet "
        "attachments.poll_ids author_id edit_history_tweet_ids entities.mentions.username geo.place_id "
        "in_reply_to_user_id entities.note.mentions.username referenced_tweets.id "
        "referenced_tweets.id.attachments.media_keys referenced_tweets.id.author_id"
    ),
}
FIELDS = {key: set(names.split()) for key, names in _FIELDS.items()}


def at(post_id: int) -> float:
    """When a post was made, in seconds since 1970."""
    return ((post_id >> 22) + EPOCH_MS) / 1000


def first_at(seconds: float) -> int:
    """The least id of a moment."""
    return max(0, int(seconds * 1000) - EPOCH_MS) << 22


@dataclass
class Fault:
    """An answer in place of the right one, or nothing for so many seconds before it."""

    status: int = 0
    body: dict[str, Any] | str = ""
    headers: dict[str, str] = field(default_factory=dict)
    wait_s: float = 0.0


@dataclass
class Limit:
    """So many requests in a window."""

    requests: int
    window_s: float
    used: int = 0
    reset: float = 0.0


class Listener:
    """One connection to the stream."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._changed = asyncio.Event()
        self._lines: deque[bytes] = deque()
        self.bytes = 0
        self.end: str | None = None

    def put(self, line: bytes) -> None:
        self._lines.append(line)
        self.bytes += len(line)
        self._loop.call_soon_threadsafe(self._changed.set)

    def finish(self, how: str) -> None:
        self.end = how
        self._loop.call_soon_threadsafe(self._changed.set)

    async def next(self, patience: float) -> bytes | None:
        """A line; None when it ends; a newline when nothing came."""
        try:
            while not self._lines:
                if self.end is not None:
                    return None
                self._changed.clear()
                await asyncio.wait_for(self._changed.wait(), patience)
        except TimeoutError:
            return b"\r\n"
        line = self._lines.popleft()
        self.bytes -= len(line)
        return line


class Refused(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        super().__init__(str(body))
        self.status = status
        self.body = body
        self.headers = headers or {}


def invalid(message: str, **parameters: Any) -> Refused:
    return Refused(
        400,
        {
            "errors": [{"parameters": {k: [str(v)] for k, v in parameters.items()}, "message": message}],
            "title": "Invalid Request",
            "detail": "One or more parameters to your request was invalid.",
            "type": f"{PROBLEMS}/invalid-request",
        },
    )


class TwitterServer:
    """The server.

    Attributes:
        tokens: bearer tokens that are accepted.
        keepalive_s: how often an empty line comes.
        silent: whether connections get nothing any more, not even empty lines.
        gzip: whether the stream is packed for who understands that.
        connections_allowed: to the stream at a time.
        backfill_allowed: whether the access level has backfill_minutes.
        search_allowed: whether it has recent search.
        refuses_in_search: an operator that search does not have.
        search_lag_s: how long after a post search finds it.
        most_rules, longest_rule: of the access level.
        most_waiting: bytes that a slow reader may leave unread before it is disconnected.
        requests: what was asked: endpoint and parameters.
        connected: how many connections to the stream were made.
    """

    def __init__(self, port: int = 0) -> None:
        self.tokens = {TOKEN}
        self.oauth: dict[str, str] = {}
        self.keepalive_s = 20.0
        self.silent = False
        self.gzip = True
        self.connections_allowed = 1
        self.backfill_allowed = False
        self.search_allowed = True
        self.refuses_in_search = ""
        self.search_lag_s = 0.0
        self.most_rules = 1000
        self.longest_rule = 512
        self.page_of_rules = 1000
        self.most_waiting = 64 << 20
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.connected = 0
        self.rules: dict[str, dict[str, str]] = {}
        self.users: dict[str, dict[str, Any]] = {}
        self.posts: list[dict[str, Any]] = []
        self.includes: dict[str, dict[str, dict[str, Any]]] = {"media": {}, "polls": {}, "places": {}}
        self.listeners: list[Listener] = []
        self._faults: dict[str, deque[Fault]] = {}
        self._limits: dict[str, Limit] = {}
        self._ids = itertools.count(1)
        self._last = 0
        self._lock = threading.RLock()
        self._socket = socket.create_server(("127.0.0.1", port))
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        config = uvicorn.Config(self._app(), log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)
        self._thread.start()
        until(lambda: self._server.started, 150, every=0.005)

    def close(self) -> None:
        self.disconnect()
        self._server.should_exit = True
        self._thread.join(10)
        self._socket.close()

    # What happens on X.

    def user(self, name: str, **more: Any) -> str:
        """A user's id. Made when there is none of this name."""
        with self._lock:
            for user in self.users.values():
                if user["username"].lower() == name.lower():
                    return str(user["id"])
            number = str(1_000_000 + next(self._ids))
            self.users[number] = {
                "id": number,
                "name": name.title(),
                "username": name,
                "created_at": "2020-01-02T03:04:05.000Z",
                "verified": False,
                "public_metrics": {"followers_count": 3, "following_count": 4, "tweet_count": 5, "listed_count": 0},
                **more,
            }
            return number

    def post(
        self, text: str, by: str = "alice", *, when: float | None = None, unseen: bool = False, **more: Any
    ) -> int:
        """Somebody posts something. `unseen`: the stream does not bring it, as while nobody is connected."""
        with self._lock:
            author = self.user(by)
            moment = time.time() if when is None else when
            number = first_at(moment)
            while number <= self._last if when is None else any(int(p["id"]) == number for p in self.posts):
                number += 1
            self._last = max(self._last, number)
            post = {
                "id": str(number),
                "text": text,
                "edit_history_tweet_ids": [str(number)],
                "author_id": author,
                "conversation_id": str(number),
                "created_at": dt.datetime.fromtimestamp(at(number), dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z",
                "lang": "en",
                "possibly_sensitive": False,
                "public_metrics": {"retweet_count": 0, "reply_count": 1, "like_count": 2, "quote_count": 0},
                "entities": {
                    "hashtags": [
                        {"start": m.start(), "end": m.end(), "tag": m[1]} for m in re.finditer(r"#(\w+)", text)
                    ]
                },
                **more,
            }
            self.posts.append(post)
            if when is not None:
                self.posts.sort(key=lambda each: int(each["id"]))
            if not unseen:
                for listener in self.listeners:
                    self._deliver(listener, post)
            return number

    def rule(self, value: str, tag: str | None = None) -> str:
        """Somebody adds a rule."""
        with self._lock:
            number = str(1_500_000_000_000_000_000 + next(self._ids))
            self.rules[number] = {"id": number, "value": value, **({} if tag is None else {"tag": tag})}
            return number

    def tags(self) -> dict[str, str | None]:
        """Rules by value."""
        with self._lock:
            return {rule["value"]: rule.get("tag") for rule in self.rules.values()}

    # What goes wrong.

    def disconnect(self, how: str = "clean", notice: bool = False) -> None:
        """End the connections to the stream: `clean`, or `abrupt` without the end that HTTP asks for."""
        with self._lock:
            for listener in self.listeners:
                if notice:
                    error = {
                        "title": "operational-disconnect",
                        "disconnect_type": "UpstreamOperationalDisconnect",
                        "detail": "This stream has been disconnected upstream for operational reasons.",
                        "type": f"{PROBLEMS}/operational-disconnect",
                    }
                    listener.put(json.dumps({"errors": [error]}).encode() + b"\r\n")
                listener.finish(how)

    def say(self, line: bytes) -> None:
        """Put something of your own on the stream."""
        with self._lock:
            for listener in self.listeners:
                listener.put(line + b"\r\n")

    def fail(self, endpoint: str, *faults: Fault) -> None:
        """The next requests to an endpoint (stream, rules, search, timeline, users) get these answers."""
        self._faults.setdefault(endpoint, deque()).extend(faults)

    def limit(self, endpoint: str, requests: int, window_s: float = 900.0) -> None:
        """So many requests to an endpoint in a window that begins now."""
        self._limits[endpoint] = Limit(requests, window_s, reset=time.time() + window_s)

    def asked(self, endpoint: str) -> list[dict[str, str]]:
        """The parameters of all requests to an endpoint."""
        return [parameters for name, parameters in self.requests if name == endpoint]

    # Answers.

    def _app(self) -> FastAPI:
        app = FastAPI(openapi_url=None)
        app.add_api_route("/2/tweets/search/stream", self._route("stream", self._stream), methods=["GET"])
        app.add_api_route("/2/tweets/search/stream/rules", self._route("rules", self._get_rules), methods=["GET"])
        app.add_api_route("/2/tweets/search/stream/rules", self._route("rules", self._change_rules), methods=["POST"])
        app.add_api_route("/2/tweets/search/recent", self._route("search", self._search), methods=["GET"])
        app.add_api_route("/2/users/by", self._route("users", self._users_by), methods=["GET"])
        app.add_api_route("/2/users/{user}/tweets", self._route("timeline", self._timeline), methods=["GET"])
        return app

    def _route(self, endpoint: str, answer: Callable[..., Any]) -> Callable[..., Any]:
        async def route(request: Request) -> Response:
            parameters = dict(request.query_params)
            self.requests.append((endpoint, {**parameters, **request.path_params}))
            headers: dict[str, str] = {}
            try:
                faults = self._faults.get(endpoint)
                if faults:
                    fault = faults.popleft()
                    await asyncio.sleep(fault.wait_s)
                    if fault.status:
                        if isinstance(fault.body, str):
                            return Response(fault.body, fault.status, fault.headers)
                        raise Refused(fault.status, fault.body, fault.headers)
                self._authorize(request, endpoint)
                headers = self._count(endpoint)
                if unknown := sorted(set(parameters) - PARAMETERS[endpoint]):
                    known = ",".join(sorted(PARAMETERS[endpoint]))
                    raise invalid(f"The query parameter [{unknown[0]}] is not one of [{known}]")
                for key in sorted(COMMON & set(parameters)):
                    if unknown := sorted(set(parameters[key].split(",")) - FIELDS[key]):
                        raise invalid(
                            f"The `{key}` query parameter value [{unknown[0]}] is not one of [...]", **{key: "?"}
                        )
                with self._lock:
                    body = json.loads(await request.body() or "{}") if request.method == "POST" else None
                    found = answer(request, parameters, body) if body is not None else answer(request, parameters)
                if isinstance(found, Response):
                    found.headers.update(headers)
                    return found
                return JSONResponse(found, 201 if body and "add" in body else 200, headers)
            except Refused as refused:
                return JSONResponse(refused.body, refused.status, {**headers, **refused.headers})

        return route

    def _authorize(self, request: Request, endpoint: str) -> None:
        header = request.headers.get("Authorization", "")
        kind, _, token = header.partition(" ")
        if kind == "Bearer" and token in self.tokens:
            return
        if kind == "OAuth" and endpoint not in ("stream", "rules") and self._signed(request, token):
            return
        if kind == "OAuth" and endpoint in ("stream", "rules"):
            raise Refused(
                403,
                {
                    "title": "Unsupported Authentication",
                    "detail": "Authenticating with OAuth 1.0a User Context is forbidden for this endpoint.  Supported "
                    "authentication types are [OAuth 2.0 Application-Only].",
                    "type": f"{PROBLEMS}/unsupported-authentication",
                    "status": 403,
                },
            )
        raise Refused(401, {"title": "Unauthorized", "type": "about:blank", "status": 401, "detail": "Unauthorized"})

    def _signed(self, request: Request, header: str) -> bool:
        """Whether a request is signed with the four keys, as OAuth 1.0a asks for (RFC 5849)."""
        said = {name: unquote(value) for name, value in re.findall(r'(\w+)="([^"]*)"', header)}
        given = [*request.query_params.multi_items(), *said.items()]
        pairs = sorted((quote(k, "~"), quote(v, "~")) for k, v in given if k not in ("realm", "oauth_signature"))
        address = str(request.url).partition("?")[0]
        normalized = "&".join(f"{name}={value}" for name, value in pairs)
        base = "&".join(quote(part, "~") for part in (request.method, address, normalized))
        keys = self.oauth
        if (said.get("oauth_consumer_key"), said.get("oauth_token")) != (keys.get("consumer_key"), keys.get("token")):
            return False
        key = f"{quote(keys['consumer_secret'], '~')}&{quote(keys['token_secret'], '~')}"
        right = base64.b64encode(hmac.digest(key.encode(), base.encode(), "sha1")).decode()
        return said.get("oauth_signature") == right

    def _count(self, endpoint: str) -> dict[str, str]:
        limit = self._limits.get(endpoint)
        if limit is None:
            return {}
        if time.time() >= limit.reset:
            limit.used, limit.reset = 0, time.time() + limit.window_s
        headers = {
            "x-rate-limit-limit": str(limit.requests),
            "x-rate-limit-remaining": str(max(0, limit.requests - limit.used - 1)),
            "x-rate-limit-reset": str(int(limit.reset) + 1),
        }
        if limit.used >= limit.requests:
            body = {"title": "Too Many Requests", "detail": "Too Many Requests", "type": "about:blank", "status": 429}
            raise Refused(429, body, headers)
        limit.used += 1
        return headers

    def _stream(self, request: Request, parameters: dict[str, str]) -> Response:
        minutes = int(parameters.get("backfill_minutes", 0))
        if minutes and not self.backfill_allowed:
            raise invalid(
                "The `backfill_minutes` query parameter is not allowed for your access level", backfill=minutes
            )
        if not self.rules:
            raise Refused(
                409,
                {
                    "title": "ConnectionException",
                    "detail": "You must define rules before connecting to the stream.",
                    "connection_issue": "RuleConfigurationIssue",
                    "type": f"{PROBLEMS}/streaming-connection",
                },
            )
        if len(self.listeners) >= self.connections_allowed:
            raise Refused(
                429,
                {
                    "title": "ConnectionException",
                    "detail": "This stream is currently at the maximum allowed connection limit.",
                    "connection_issue": "TooManyConnections",
                    "type": f"{PROBLEMS}/streaming-connection",
                },
            )
        listener = Listener(asyncio.get_running_loop())
        listener.parameters = parameters  # type: ignore[attr-defined]
        since = time.time() - 60 * minutes
        for post in self.posts if minutes else ():
            if at(int(post["id"])) >= since:
                self._deliver(listener, post)
        self.listeners.append(listener)
        self.connected += 1

        packer = (
            zlib.compressobj(wbits=31) if self.gzip and "gzip" in request.headers.get("accept-encoding", "") else None
        )

        def pack(line: bytes) -> bytes:
            # Each line is whole for who unpacks it, so that none waits for the next.
            return line if packer is None else packer.compress(line) + packer.flush(zlib.Z_SYNC_FLUSH)

        async def body() -> AsyncIterator[bytes]:
            try:
                while True:
                    line = await listener.next(self.keepalive_s)
                    if line is None:
                        if listener.end == "abrupt":
                            raise ConnectionAbortedError
                        return
                    if not self.silent:
                        yield pack(line)
            finally:
                with self._lock:
                    if listener in self.listeners:
                        self.listeners.remove(listener)

        encoding = {} if packer is None else {"Content-Encoding": "gzip"}
        return StreamingResponse(body(), headers=encoding, media_type="application/json")

    def _deliver(self, listener: Listener, post: dict[str, Any]) -> None:
        matching = [rule for rule in self.rules.values() if matches(rule["value"], post, self.users)]
        if not matching:
            return
        told = [{"id": rule["id"], "tag": rule.get("tag", "")} for rule in matching]
        answer = self._answer([post], listener.parameters, many=False)  # type: ignore[attr-defined]
        listener.put(json.dumps({**answer, "matching_rules": told}).encode() + b"\r\n")
        if listener.bytes > self.most_waiting:
            listener.finish("abrupt")

    def _get_rules(self, request: Request, parameters: dict[str, str]) -> dict[str, Any]:
        rules = list(self.rules.values())
        first = int(parameters.get("pagination_token", "0"))
        page = rules[first : first + self.page_of_rules]
        meta: dict[str, Any] = {"sent": "2026-01-01T00:00:00.000Z", "result_count": len(page)}
        if first + len(page) < len(rules):
            meta["next_token"] = str(first + len(page))
        return {**({"data": page} if page else {}), "meta": meta}

    def _change_rules(self, request: Request, parameters: dict[str, str], body: dict[str, Any]) -> Any:
        dry = parameters.get("dry_run", "false").lower() == "true"
        if "delete" in body:
            gone = [number for number in body["delete"]["ids"] if number in self.rules]
            for number in gone if not dry else ():
                del self.rules[number]
            left = len(body["delete"]["ids"]) - len(gone)
            return {"meta": {"sent": "", "summary": {"deleted": len(gone), "not_deleted": left}}}
        added, errors = [], []
        if len(self.rules) + len(body["add"]) > self.most_rules:
            error = {"title": "RulesCapExceeded", "detail": f"Rule cap of {self.most_rules} exceeded"}
            raise Refused(422, {"errors": [{**error, "type": f"{PROBLEMS}/rule-cap"}]})
        known = {rule["value"]: rule["id"] for rule in self.rules.values()}
        for rule in body["add"]:
            if rule["value"] in known:
                duplicate = {"value": rule["value"], "id": known[rule["value"]], "title": "DuplicateRule"}
                errors.append({**duplicate, "type": f"{PROBLEMS}/duplicate-rules"})
            elif problem := wrong(rule["value"], self.longest_rule):
                error = {"value": rule["value"], "details": [problem], "title": "UnprocessableEntity"}
                errors.append({**error, "type": f"{PROBLEMS}/invalid-rules"})
            else:
                added.append(rule)
        invalid_ones = [error for error in errors if error["title"] == "UnprocessableEntity"]
        made = []
        for rule in added:
            number = str(1_500_000_000_000_000_000 + next(self._ids))
            made.append({**rule, "id": number})
            if not dry:
                self.rules[number] = made[-1]
        summary = {"created": len(made), "not_created": len(errors), "valid": len(made), "invalid": len(invalid_ones)}
        answer: dict[str, Any] = {"meta": {"sent": "", "summary": summary}}
        if made:
            answer["data"] = made
        if errors:
            answer["errors"] = errors
        return answer if made or not errors else JSONResponse(answer, 400 if invalid_ones else 200)

    def _search(self, request: Request, parameters: dict[str, str]) -> dict[str, Any]:
        if not self.search_allowed:
            raise Refused(
                403,
                {
                    "title": "Client Forbidden",
                    "detail": "This app's access level does not include recent search.",
                    "reason": "client-not-enrolled",
                    "type": f"{PROBLEMS}/client-forbidden",
                },
            )
        query = parameters.get("query", "")
        if problem := wrong(query, self.longest_rule):
            raise invalid(problem, query=query)
        if self.refuses_in_search and self.refuses_in_search in query:
            raise invalid(f"There were errors processing your request: invalid operator {self.refuses_in_search}")
        since = parameters.get("since_id")
        oldest = first_at(time.time() - WEEK_S)
        if since is not None and int(since) < oldest:
            when = dt.datetime.fromtimestamp(at(oldest), dt.UTC).strftime("%Y-%m-%dT%H:%MZ")
            raise invalid(
                f"'since_id' must be a tweet id created after [{when}]. Please use a 'since_id' that is larger than "
                f"{oldest}",
                since_id=since,
            )
        newest = first_at(time.time() - self.search_lag_s) if self.search_lag_s else 1 << 63
        found = [post for post in self.posts if oldest <= int(post["id"]) < newest and matches(query, post, self.users)]
        return self._page(found, parameters, "next_token", 10)

    def _timeline(self, request: Request, parameters: dict[str, str]) -> dict[str, Any]:
        number = str(request.path_params["user"])
        user = self.users.get(number)
        if user is None or user.get("protected"):
            what = "Authorization Error" if user else "Not Found Error"
            problem = "not-authorized-for-resource" if user else "resource-not-found"
            detail = (
                f"Sorry, you are not authorized to see the user with id: [{number}]."
                if user
                else f"Could not find user with id: [{number}]."
            )
            return {"errors": [{"value": number, "title": what, "detail": detail, "type": f"{PROBLEMS}/{problem}"}]}
        excluded = set(parameters.get("exclude", "").split(","))
        kinds = {"replies": "replied_to", "retweets": "retweeted"}
        found = [
            post
            for post in self.posts
            if post["author_id"] == number
            and not any(
                kinds.get(each) == reference["type"]
                for each in excluded
                for reference in post.get("referenced_tweets", [])
            )
        ]
        return self._page(found[-3200:], parameters, "pagination_token", 5)

    def _page(self, found: list[dict[str, Any]], parameters: dict[str, str], token: str, least: int) -> dict[str, Any]:
        by_id, by_time = {"since_id", "until_id"} & set(parameters), {"start_time", "end_time"} & set(parameters)
        if by_id and by_time:
            raise invalid("Invalid use of 'since_id' or 'until_id' in conjunction with 'start_time' or 'end_time'.")
        most = int(parameters.get("max_results", "10"))
        if not least <= most <= 100:
            raise invalid(f"The `max_results` query parameter value [{most}] is not between {least} and 100")
        since, until = int(parameters.get("since_id", 0)), int(parameters.get("until_id", 1 << 63))
        if token in parameters:
            until = min(until, int(parameters[token].removeprefix("b26v"), 36))
        chosen = [post for post in reversed(found) if since < int(post["id"]) < until]
        page = chosen[:most]
        meta: dict[str, Any] = {"result_count": len(page)}
        if page:
            meta |= {"newest_id": page[0]["id"], "oldest_id": page[-1]["id"]}
        if len(chosen) > len(page):
            meta["next_token"] = "b26v" + base36(int(page[-1]["id"]))
        return {**self._answer(page, parameters), "meta": meta}

    def _users_by(self, request: Request, parameters: dict[str, str]) -> dict[str, Any]:
        found, errors = [], []
        names = parameters["usernames"].split(",")
        if len(names) > 100:
            raise invalid("The number of values in the `usernames` query parameter list is not between 1 and 100")
        for name in names:
            user = next((u for u in self.users.values() if u["username"].lower() == name.lower()), None)
            if user:
                found.append({key: user[key] for key in USER_FIELDS})
            else:
                detail = f"Could not find user with usernames: [{name}]."
                error = {"value": name, "detail": detail, "title": "Not Found Error"}
                errors.append({**error, "type": f"{PROBLEMS}/resource-not-found"})
        return {**({"data": found} if found else {}), **({"errors": errors} if errors else {})}

    def _answer(self, posts: list[dict[str, Any]], parameters: dict[str, str], *, many: bool = True) -> dict[str, Any]:
        """Posts with the fields that are asked for, and what is to come along."""
        wanted = POST_FIELDS | set(parameters.get("tweet.fields", "").split(","))
        expansions = set(parameters.get("expansions", "").split(","))
        wanted |= {name for name in expansions if "." not in name}
        wanted |= {
            name.partition(".")[0] for name in expansions if name.startswith(("attachments", "geo", "referenced"))
        }
        data = [{key: value for key, value in post.items() if key in wanted} for post in posts]
        includes: dict[str, dict[str, Any]] = {}

        def include(kind: str, key: str, thing: dict[str, Any] | None, fields: Iterable[str] = ()) -> None:
            if thing is not None:
                kept = set(fields)
                made = {k: v for k, v in thing.items() if k in kept} if kept else thing
                includes.setdefault(kind, {})[key] = made

        user_fields = USER_FIELDS | set(parameters.get("user.fields", "").split(","))
        for post in posts:
            if "author_id" in expansions:
                include("users", post["author_id"], self.users.get(post["author_id"]), user_fields)
            attachments = post.get("attachments", {})
            for expansion, kind, ids in (
                ("attachments.media_keys", "media", attachments.get("media_keys", [])),
                ("attachments.poll_ids", "polls", attachments.get("poll_ids", [])),
                ("geo.place_id", "places", [post.get("geo", {}).get("place_id")]),
            ):
                for number in ids if expansion in expansions else ():
                    include(kind, number, self.includes[kind].get(number))
            for reference in post.get("referenced_tweets", []) if "referenced_tweets.id" in expansions else ():
                other = next((each for each in self.posts if each["id"] == reference["id"]), None)
                include("tweets", reference["id"], other, wanted)
                if other is not None and "referenced_tweets.id.author_id" in expansions:
                    include("users", other["author_id"], self.users.get(other["author_id"]), user_fields)
        answer: dict[str, Any] = {"data": data if many else data[0]} if data else {}
        if includes:
            answer["includes"] = {kind: list(things.values()) for kind, things in includes.items()}
        return answer


def base36(number: int) -> str:
    digits = ""
    while number:
        number, rest = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[rest] + digits
    return digits or "0"


if __name__ == "__main__":
    import argparse

    words = argparse.ArgumentParser(description="A server of X's API v2 on this machine, with a post every second.")
    words.add_argument("--port", type=int, default=8480)
    server = TwitterServer(words.parse_args().port)
    sys.stdout.write(f"twitter.base.url={server.url}\ntwitter.bearer.token={TOKEN}\n")
    sys.stdout.flush()
    try:
        for number in itertools.count(1):
            server.post(f"post {number} about #kafka", by=f"user{number % 3}")
            time.sleep(1)
    except KeyboardInterrupt:
        server.close()
