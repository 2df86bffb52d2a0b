"""One URL of a task, read repeatedly, page by page."""

from __future__ import annotations

import datetime as dt
import logging
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

import orjson

from connect import ConnectError, SourceBatch, Values
from connect.data import Deferred
from connect.data.times import timestamp_ms
from connect.kit import Answer, Request, RestClient, RestError, json_of, value_at
from connect.kit.answers import parsed, utf8_of
from connect.kit.pages import with_parameters
from connectors.http.source.keys import JSON, LINES, OFFSET, PAGE, PLACE, SourceOptions
from connectors.http.source.positions import Position, digest

log = logging.getLogger(__name__)

_LINES: Final = ("ndjson", "jsonl", "json-lines", "json-seq", "jsonlines")
#: Around a line; the last one begins each text of application/json-seq (RFC 7464).
_BLANKS: Final = b" \t\x1e"
#: What is told of a page that is no longer there: a server need not keep cursors forever.
_GONE: Final = frozenset({400, 404, 410, 422})
#: The answer 400 for a number behind the last page: WordPress's code is rest_post_invalid_page_number.
_INVALID_PAGE: Final = re.compile(r"invalid[ _]page", re.IGNORECASE)
#: A number above is milliseconds since 1970.
_SECONDS: Final = 1e11
#: A number written as text. One of eight digits is a date.
_NUMBER: Final = re.compile(r"[0-9]{9,18}(\.[0-9]+)?")


class Reading:
    """Reads a URL.

    Args:
        url: as it is configured.
        position: where to continue.
        partition: its source partition.

    Attributes:
        due: on the monotonic clock, when the next request is sent.
        looked: the last call of `next`.
    """

    def __init__(
        self,
        url: str,
        options: SourceOptions,
        client: RestClient,
        position: Position,
        partition: Mapping[str, str],
    ) -> None:
        self._url = url
        self._options = options
        self._client = client
        self._pages = options.pages
        self._position = position
        self._partition = partition
        self._resumed = position.page is not None
        self._began = 0.0
        self._told = False
        self._named: set[int] = set()
        self.due = 0.0
        self.looked = 0.0

    def next(self) -> SourceBatch | None:
        """The records of the next page. None: there is no response yet, or it has nothing new.

        Raises:
            RetriableError: the server is unavailable now.
            ConnectError: it refuses, or its response does not match the configuration.
        """
        position = self._position
        if position.page is None and not self._began:
            self._began = time.monotonic()
        request = self._pages.request(self._first(position), position.page)
        try:
            answer = self._client.ask(request)
        except RestError as error:
            if self._is_behind_the_last(error):
                self._resumed = False
                self._end(position)
                return None
            if self._resumed and error.status in _GONE:
                log.warning("%s The page that was being read is gone: all pages are read again.", error)
                self._resumed = False
                self._position = Position(
                    position.cursor, position.seen, highest=position.cursor, highest_seen=position.seen
                )
                return None
            raise
        if answer is None:
            return None
        self._resumed = False
        document, records = self._parsed(answer)
        following = self._pages.after(position.page, request, answer, document, len(records))
        batch, behind = self._batch(records, position, following)
        if following is None:
            self._end(behind)
        else:
            self._follow(request, position, following)
            self._position = behind.on(following)
        return batch

    # Inside.

    def _is_behind_the_last(self, error: RestError) -> bool:
        """Whether an error says that the page before, which was read as a whole, was the last."""
        position, status = self._position, error.status
        counted = self._options.pagination in (PAGE, OFFSET)
        if not counted or position.page is None or position.records:
            return False
        return status == 404 or (status == 400 and _INVALID_PAGE.search(str(error)) is not None)

    def _follow(self, request: Request, position: Position, following: str | int) -> None:
        """Note a page that the server names. Raises RestError where it was read in this pass: pages in a circle."""
        if self._options.pagination in (PAGE, OFFSET):
            return  # numbers that grow
        if position.page is None:
            self._named = {hash(request.url)}
        if hash(following) in self._named:
            raise RestError(
                f"{self._client.where} names a page as the next one that was read before: its pages form a circle. "
                "Check http.pagination and http.pagination.field."
            )
        self._named.add(hash(following))

    def _end(self, position: Position) -> None:
        """All pages are read, up to this position."""
        self._position = position.on(None)
        self.due = (self._began or time.monotonic()) + self._options.poll_interval
        self._began = 0.0

    def _first(self, position: Position) -> Request:
        """The request for the first page."""
        options, cursor = self._options, position.cursor
        url, body = self._url, options.body
        if cursor is not None:
            url = PLACE.sub(lambda _: quote(str(cursor), safe=""), url)
            # Within the quotes of a text it is to stand without its own.
            written = orjson.dumps(cursor).decode()
            written = written[1:-1] if isinstance(cursor, str) else written
            body = body and PLACE.sub(lambda _: written, body)
        headers = {"Content-Type": options.content_type or "application/json"} if body else {}
        request = Request(url, options.method, body.encode() if body else None, headers)
        if cursor is not None and options.offset_parameter:
            request = with_parameters(request, {options.offset_parameter: cursor})
        return request

    def _parsed(self, answer: Answer) -> tuple[Any, Sequence[Any]]:
        """The document, and its records."""
        if answer.status in (204, 304):
            return None, ()
        kind = next((value for name, value in answer.headers if name.lower() == "content-type"), "")
        how = self._options.format
        if how == LINES or (how != JSON and any(each in kind.lower() for each in _LINES)):
            try:
                lines = (line.strip(_BLANKS) for line in utf8_of(answer).splitlines())
                return None, [parsed(line) for line in lines if line]
            except ValueError as error:
                raise ConnectError(f"{self._client.where} answers with a line that is not JSON: {error}.") from None
        try:
            document = json_of(answer)
        except RestError as error:
            raise ConnectError(f"{self._client.where}: {error} Check http.url and http.response.format.") from None
        found = value_at(document, self._options.records)
        if found is None and document is not None and not self._told:
            self._told = True
            log.warning(
                "%s answers without anything at %s (http.records.path).", self._client.where, self._options.records
            )
        return document, found if isinstance(found, list) else () if found is None else [found]

    def _batch(
        self, records: Sequence[Any], position: Position, following: str | int | None
    ) -> tuple[SourceBatch | None, Position]:
        """The new records, and the position after all of them."""
        skipped = position.records
        if skipped and (len(records) < skipped or digest(records[skipped - 1]) != position.last):
            log.info("%s: a page has changed since it was read, and is read again as a whole.", self._client.where)
            skipped = 0
        field = self._options.offset_field
        new: list[Any] = []
        places: list[int] = []
        for place in range(skipped, len(records)):
            record = records[place]
            value = value_at(record, field) if field else None
            if value is None or position.is_new(value, digest(record)):
                new.append(record)
                places.append(place)
        behind = position
        for record in new if field else ():
            behind = behind.with_record(value_at(record, field), digest(record))
        if not new:
            return None, behind
        last = len(new) - 1
        made: list[Mapping[str, Any]] = []

        def offsets() -> list[Mapping[str, Any]]:
            if not made:
                reached = position
                for place, record in zip(places, new, strict=True):
                    mark = digest(record)
                    if field:
                        reached = reached.with_record(value_at(record, field), mark)
                    made.append(reached.at(place + 1, mark).offset(self._url))
                made[last] = end()
            return made

        def end() -> Mapping[str, Any]:
            return behind.on(following).offset(self._url)

        def offset(row: int) -> Mapping[str, Any]:
            # What is acknowledged is mostly a whole batch, whose end needs no look at the others.
            return end() if row == last else offsets()[row]

        batch = SourceBatch(
            self._options.topic,
            Values(new),
            keys=self._keys(new),
            timestamps=self._timestamps(new),
            source_partitions=self._partition,
            source_offsets=Deferred(len(new), offsets, offset),
        )
        return batch, behind

    def _keys(self, records: list[Any]) -> Values | None:
        fields = self._options.key
        if not fields:
            return None
        if len(fields) == 1:
            return Values([value_at(record, fields[0]) for record in records])
        return Values([{field: value_at(record, field) for field in fields} for record in records])

    def _timestamps(self, records: list[Any]) -> list[int | None] | None:
        field = self._options.timestamp
        return [_milliseconds(value_at(record, field)) for record in records] if field else None


def _milliseconds(value: Any) -> int | None:
    """A time as milliseconds since 1970; None where it is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    if isinstance(value, int | float):
        return int(value if value > _SECONDS else value * 1000)
    try:
        return timestamp_ms(dt.datetime.fromisoformat(str(value)))
    except ValueError:
        return None
