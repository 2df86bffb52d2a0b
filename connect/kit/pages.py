"""The pages of a REST API: how the next one is requested, and which is the last.

For example:

    pages = LinkHeader()
    page = None  # the first
    while True:
        request = pages.request(Request("https://shop.example/orders"), page)
        answer = api.send(request)
        orders = json_of(answer)
        page = pages.after(page, request, answer, orders, len(orders))
        if page is None:
            break

A page is a text or a number: an offset can store it, so that reading continues there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Protocol
from urllib.parse import quote, unquote_plus, urlencode, urljoin, urlsplit

import orjson

from connect.http import Answer
from connect.kit.failures import RestError, origin
from connect.kit.rest import Redirected, Request

Page = str | int | None

_LINK: Final = re.compile(r"<([^<>]*)>((?:\s*;\s*[^\s=;,]+(?:\s*=\s*(?:\"(?:[^\"\\]|\\.)*\"|[^\s;,]+))?)*)")
_PARAMETER: Final = re.compile(r";\s*([^\s=;,]+)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^\s;,]+))")


class Pages(Protocol):
    """One way to request page after page."""

    def request(self, first: Request, page: Page) -> Request:
        """The request for a page. None is the first one, which `first` requests."""

    def after(self, page: Page, request: Request, answer: Answer, document: Any, count: int) -> Page:
        """The page after one that was read; None where it was the last.

        Args:
            page: that was read.
            request: for it.
            answer: the response.
            document: its JSON.
            count: the number of records in it.

        Raises:
            RestError: the next page is on another server, or the same again.
        """


class OnePage:
    """A single page."""

    def request(self, first: Request, page: Page) -> Request:
        """See `Pages`."""
        return first

    def after(self, page: Page, request: Request, answer: Answer, document: Any, count: int) -> Page:
        """See `Pages`."""
        return None


class LinkHeader:
    """The header Link names the next page: `<https://..>; rel="next"` (RFC 8288)."""

    def request(self, first: Request, page: Page) -> Request:
        """See `Pages`."""
        return first if page is None else replace(first, url=str(page))

    def after(self, page: Page, request: Request, answer: Answer, document: Any, count: int) -> Page:
        """See `Pages`."""
        links = ", ".join(value for name, value in answer.headers if name.lower() == "link")
        return _further(request, answer, next_link(links))


class NextUrl:
    """A field of the response names the next page.

    Args:
        field: see `value_at`.
    """

    def __init__(self, field: str) -> None:
        self._field = field

    def request(self, first: Request, page: Page) -> Request:
        """See `Pages`."""
        return first if page is None else replace(first, url=str(page))

    def after(self, page: Page, request: Request, answer: Answer, document: Any, count: int) -> Page:
        """See `Pages`."""
        found = value_at(document, self._field)
        return _further(request, answer, found if isinstance(found, str) else None)


class Cursor:
    """A field of the response is a parameter of the next request.

    Args:
        field: see `value_at`.
        parameter: of the query; of a POST with a JSON object as its body, a field there.
    """

    def __init__(self, field: str, parameter: str) -> None:
        self._field = field
        self._parameter = parameter

    def request(self, first: Request, page: Page) -> Request:
        """See `Pages`."""
        return first if page is None else with_parameters(first, {self._parameter: page})

    def after(self, page: Page, request: Request, answer: Answer, document: Any, count: int) -> Page:
        """See `Pages`."""
        found = value_at(document, self._field)
        if found is None or found == "" or isinstance(found, bool | dict | list):
            return None
        if found == page:
            raise RestError(f"{origin(request.url)} names the same page as the next one again ({self._field}).")
        return found if isinstance(found, int) else str(found)


class PageNumber:
    """A parameter counts pages. The last one has no records, or fewer than a page.

    Args:
        parameter: of the query, or of a POST's JSON body.
        first: the first number.
        size: the number of records of a page; 0 if unknown.
        size_parameter: the parameter for the size, if there is one.
    """

    def __init__(self, parameter: str, *, first: int = 1, size: int = 0, size_parameter: str = "") -> None:
        self._parameter = parameter
        self._first = first
        self._size = size
        self._asked = {size_parameter: size} if size and size_parameter else {}

    def request(self, first: Request, page: Page) -> Request:
        """See `Pages`."""
        return with_parameters(first, {**self._asked, self._parameter: self._first if page is None else page})

    def after(self, page: Page, request: Request, answer: Answer, document: Any, count: int) -> Page:
        """See `Pages`."""
        last = not count or count < self._size
        return None if last else (self._first if page is None else int(page)) + 1


class OffsetLimit:
    """A parameter is the number of skipped records. The last page has fewer than `limit`.

    Args:
        parameter: of the query, or of a POST's JSON body.
        limit: the number of records of a page.
        limit_parameter: the parameter for the limit.
    """

    def __init__(self, parameter: str = "offset", *, limit: int = 100, limit_parameter: str = "limit") -> None:
        self._parameter = parameter
        self._limit = limit
        self._asked = {limit_parameter: limit} if limit_parameter else {}

    def request(self, first: Request, page: Page) -> Request:
        """See `Pages`."""
        return with_parameters(first, {**self._asked, self._parameter: page or 0})

    def after(self, page: Page, request: Request, answer: Answer, document: Any, count: int) -> Page:
        """See `Pages`. A server may return less than requested: only an empty page is certainly the last."""
        return None if not count else int(page or 0) + count


def value_at(document: Any, field: str) -> Any:
    """A value in a JSON document; None where it is missing.

    Args:
        field: a JSON pointer (RFC 6901) such as /meta/next, or the same with dots: meta.next. Empty is the whole.
    """
    if not field:
        return document
    for step in steps_of(field):
        if isinstance(document, Mapping):
            document = document.get(step)
        elif isinstance(document, list) and step.isascii() and step.isdigit() and int(step) < len(document):
            document = document[int(step)]
        else:
            return None
    return document


def steps_of(field: str) -> list[str]:
    """The names on the way to a field: of a JSON pointer (RFC 6901), or with dots."""
    if field.startswith("/"):
        return [step.replace("~1", "/").replace("~0", "~") for step in field[1:].split("/")]
    return field.split(".")


def with_parameters(request: Request, parameters: Mapping[str, Any]) -> Request:
    """The request with these parameters: of the query, or fields of its body where that is an object of JSON."""
    if request.body is not None and request.method == "POST":
        try:
            body = orjson.loads(request.body)
        except orjson.JSONDecodeError:
            body = None
        if isinstance(body, dict):
            return replace(request, body=orjson.dumps({**body, **parameters}))
    parts = urlsplit(request.url)
    # The others stay as they are written: to decode them may lose what is no UTF-8.
    kept = [item for item in parts.query.split("&") if item and unquote_plus(item.partition("=")[0]) not in parameters]
    added = urlencode([(name, str(value)) for name, value in parameters.items()], quote_via=quote)
    return replace(request, url=parts._replace(query="&".join(filter(None, [*kept, added]))).geturl())


def next_link(links: str) -> str | None:
    """The target of rel=next in a header Link."""
    for target, parameters in _LINK.findall(links):
        for name, quoted, plain in _PARAMETER.findall(parameters):
            if name.lower() == "rel" and "next" in (quoted or plain).lower().split():
                return str(target)
    return None


def _further(request: Request, answer: Answer, link: str | None) -> str | None:
    if not link:
        return None
    base = answer.url if isinstance(answer, Redirected) else request.url
    url = urljoin(base, link)
    if origin(url) != origin(request.url):
        raise RestError(
            f"{origin(request.url)} names a next page of another server, {origin(url)}, which is not shown its login."
        )
    if url in (request.url, base):
        raise RestError(f"{origin(request.url)} names the same page as the next one again.")
    return url
