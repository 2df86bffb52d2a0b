"""The keys of the source."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from connect import settings
from connect.kit import Cursor, LinkHeader, NextUrl, OffsetLimit, OnePage, PageNumber, Pages
from connect.settings import Alias, Listed, WithoutEffect
from connectors.http.connection import ServerOptions, web_address

_WHAT: Final = "What is read"
_RECORDS: Final = "Records"
_CURSOR: Final = "What is new"
_PAGES: Final = "Pages"
_RETRIES: Final = "Retries"

NONE: Final = "none"
LINK: Final = "link"
NEXT_URL: Final = "next-url"
CURSOR: Final = "cursor"
PAGE: Final = "page"
OFFSET: Final = "offset"

AUTO: Final = "auto"
JSON: Final = "json"
LINES: Final = "ndjson"

#: Which of them a task reads, as JSON: written by the connector.
WORK: Final = "http.task.urls"
#: The place of the cursor in a URL or body.
PLACE: Final = re.compile(r"\$\{offset\.[^${}]*\}")

#: castorm's names; its templates, timers and parsers by class are not followed.
_NO_CLASSES: Final = "there is one way to do that here, which the http.* keys of this connector set"


def urls(written: str) -> tuple[str, ...]:
    """The URLs: a comma separates them where another URL follows."""
    parts = (part.strip() for part in re.split(r",(?=\s{0,20}https?://)", written))
    found = tuple(map(web_address, filter(None, parts)))
    if not found:
        raise ValueError("is not an address. Write https://host/path.")
    if len(set(found)) < len(found):
        raise ValueError("names a URL twice. Write it once.")
    return found


class SourceOptions(
    ServerOptions,
    aliases={
        "http.request.url": "http.url",
        "http.request.method": "http.method",
        "http.request.body": "http.body",
        "http.request.headers": "http.headers.additional",
        "http.response.list.pointer": "http.records.path",
        "http.timer.interval.millis": "poll.interval.ms",
        "http.auth.type": "http.authorization.type",
        "http.auth.user": "http.username",
        "http.auth.password": "http.password",
        "http.client.connection.timeout.millis": "http.connect.timeout.ms",
        "http.client.proxy.host": "http.proxy.host",
        "http.client.proxy.port": "http.proxy.port",
        "http.client.proxy.username": "http.proxy.username",
        "http.client.proxy.password": "http.proxy.password",
        "http.client.read.timeout.millis": Alias(
            "http.timeout", value=lambda written, _: str(max(1, int(written) // 1000)) if written.isdigit() else written
        ),
        "kafka.topic": "topic",
    },
    without_effect={
        "http.timer": WithoutEffect(_NO_CLASSES),
        "http.timer.catchup.interval.millis": "the pages of an answer are read without a pause",
        "http.client": WithoutEffect(_NO_CLASSES),
        "http.client.connection.ttl.millis": "a connection that was idle for 30 seconds is recreated",
        "http.auth": WithoutEffect(_NO_CLASSES),
        "http.request.factory": WithoutEffect(_NO_CLASSES),
        "http.request.template.factory": WithoutEffect(_NO_CLASSES),
        "http.request.params": "write parameters into http.url",
        "http.response.*": "write http.records.path, http.record.key, http.record.timestamp and http.offset.field",
        "http.record.filter.factory": WithoutEffect(_NO_CLASSES),
        "http.response.record.offset.pointer": "write http.record.key, http.record.timestamp and http.offset.field",
    },
):
    """The keys, and what they mean together."""

    urls = settings.String(
        "http.url",
        importance="HIGH",
        group=_WHAT,
        width="LONG",
        convert=urls,
        doc="The URL to read; the tasks share several, separated by commas. ${offset.field} in it is "
        "replaced by the highest http.offset.field that was read, encoded for a URL.",
    )
    topic = settings.String(
        "topic",
        importance="HIGH",
        group=_WHAT,
        validator=settings.topic_name,
        listed=Listed.TOPICS,
        doc="The topic for records.",
    )
    method = settings.String(
        "http.method",
        default="GET",
        group=_WHAT,
        validator=settings.one_of("GET", "POST", ignore_case=True),
        convert=str.upper,
        doc="GET, or POST for search APIs.",
    )
    body = settings.String(
        "http.body",
        default=None,
        group=_WHAT,
        width="LONG",
        doc="The body of a POST. ${offset.field} in it is replaced as in the URL, as it stands in JSON; parameters of "
        "the cursor and of pages become fields of a body that is a JSON object.",
    )
    poll_interval = settings.Long(
        "poll.interval.ms",
        default=60_000,
        group=_WHAT,
        validator=settings.at_least(0),
        convert=settings.seconds,
        doc="The time between two passes over a URL, with all its pages.",
    )
    format = settings.String(
        "http.response.format",
        default=AUTO,
        importance="LOW",
        group=_RECORDS,
        validator=settings.one_of(AUTO, JSON, LINES, ignore_case=True),
        convert=str.lower,
        doc="json, ndjson (a line for each record), or auto: what Content-Type says.",
    )
    most_bytes = settings.Long(
        "http.response.max.bytes",
        default=64 << 20,
        importance="LOW",
        group=_RECORDS,
        validator=settings.at_least(1),
        doc="The most bytes of a response. A longer one fails the task.",
    )
    records = settings.String(
        "http.records.path",
        default="",
        group=_RECORDS,
        doc="Where the records are in the response: a JSON pointer such as /data/items, or data.items. Empty: it is a "
        "list of records, or one record.",
    )
    key = settings.List(
        "http.record.key",
        default=[],
        group=_RECORDS,
        doc="Fields of the record that form its key, separated by commas; of several the key is a map. By default it "
        "has none.",
    )
    timestamp = settings.String(
        "http.record.timestamp",
        default="",
        group=_RECORDS,
        doc="The field that is the record's timestamp: a time of ISO 8601, or milliseconds or seconds since 1970, also "
        "as text.",
    )
    offset_field = settings.String(
        "http.offset.field",
        default="",
        importance="HIGH",
        group=_CURSOR,
        doc="A field of records that only grows, such as the time of their last change, or their number. Its highest "
        "value so far goes into the next request; records that are below it, or were read, are left out. By default "
        "each pass reads all.",
    )
    offset_parameter = settings.String(
        "http.offset.parameter",
        default="",
        importance="HIGH",
        group=_CURSOR,
        doc="The query parameter for it. Or write ${offset.field} into http.url or http.body.",
    )
    initial = settings.String(
        "http.offset.initial",
        default=None,
        group=_CURSOR,
        doc="Its value in the first request. By default the first request has no such parameter.",
    )
    pagination = settings.String(
        "http.pagination",
        default=NONE,
        importance="HIGH",
        group=_PAGES,
        validator=settings.one_of(NONE, LINK, NEXT_URL, CURSOR, PAGE, OFFSET, ignore_case=True),
        convert=str.lower,
        doc="none; link: the header Link names the next page (rel=next); next-url: a field of the response is its "
        "URL; cursor: a field of the response goes into a parameter; page: a parameter counts pages; offset: it "
        "counts records.",
    )
    page_field = settings.String(
        "http.pagination.field",
        default="",
        group=_PAGES,
        doc="With next-url and cursor: the field, such as /meta/next. The last page has none, null or an empty text.",
    )
    page_parameter = settings.String(
        "http.pagination.parameter",
        default="",
        group=_PAGES,
        doc="With cursor, page and offset: the parameter. By default page and offset.",
    )
    page_first = settings.Int(
        "http.pagination.first", default=1, importance="LOW", group=_PAGES, doc="With page: the number of the first."
    )
    page_size = settings.Int(
        "http.pagination.size",
        default=0,
        group=_PAGES,
        validator=settings.at_least(0),
        doc="With page and offset: how many records to ask for. With page, one with fewer is the last; 0: an empty one "
        "is.",
    )
    page_size_parameter = settings.String(
        "http.pagination.size.parameter",
        default="",
        group=_PAGES,
        doc="With page and offset: the parameter for that, such as limit or per_page.",
    )
    retries = settings.Int(
        "max.retries",
        default=-1,
        group=_RETRIES,
        validator=settings.at_least(-1),
        doc="How often in a row a request is retried after transient failures: no answer, 408, 425, 429, 500, 502, "
        "503 and 504. -1: without end; the task's status says what it waits for.",
    )
    backoff = settings.Long(
        "retry.backoff.ms",
        default=1000,
        group=_RETRIES,
        validator=settings.at_least(0),
        convert=settings.seconds,
        doc="The pause before the first retry; each time twice as long, at most a minute, with jitter, and at least "
        "what the server asks for.",
    )
    work = settings.String(WORK, default=None, internal=True, doc="Which URLs the task reads.")

    @property
    def pages(self) -> Pages:
        """How pages are requested."""
        size, told = self.page_size, self.page_size_parameter
        match self.pagination:
            case "link":
                return LinkHeader()
            case "next-url":
                return NextUrl(self.page_field)
            case "cursor":
                return Cursor(self.page_field, self.page_parameter)
            case "page":
                name = self.page_parameter or "page"
                return PageNumber(name, first=self.page_first, size=size, size_parameter=told)
            case "offset":
                return OffsetLimit(self.page_parameter or "offset", limit=size, limit_parameter=told)
        return OnePage()

    @classmethod
    def contradictions(cls, parsed: Mapping[str, Any]) -> list[tuple[str, str]]:
        """See `ServerOptions`."""
        found = super().contradictions(parsed)
        kind = str(parsed.get("http.pagination", NONE)).lower()
        field, parameter = parsed.get("http.pagination.field"), parsed.get("http.pagination.parameter")
        if kind in (NEXT_URL, CURSOR) and field == "":
            found.append(("http.pagination.field", f"is missing: http.pagination={kind} needs it."))
        if kind == CURSOR and parameter == "":
            found.append(("http.pagination.parameter", "is missing: http.pagination=cursor needs it."))
        if kind in (PAGE, OFFSET) and bool(parsed.get("http.pagination.size")) != bool(
            parsed.get("http.pagination.size.parameter")
        ):
            found.append(
                ("http.pagination.size.parameter", "and http.pagination.size belong together: set both, or neither.")
            )
        if parsed.get("http.body") and str(parsed.get("http.method", "")).upper() == "GET":
            found.append(("http.body", "is for http.method=POST: set that, or leave it out."))
        templates = f"{parsed.get('http.url', '')} {parsed.get('http.body') or ''}"
        place = PLACE.search(templates)
        if place and not parsed.get("http.offset.field"):
            found.append(("http.offset.field", f"is missing: {place[0]} stands for it."))
        if place and parsed.get("http.offset.initial") is None:
            found.append(("http.offset.initial", f"is missing: {place[0]} needs a value in the first request."))
        if parsed.get("http.offset.parameter") and not parsed.get("http.offset.field"):
            found.append(("http.offset.field", "is missing: http.offset.parameter is for its value."))
        return found
