"""Renders pages of templates, and restricts what a browser may do with them."""

from __future__ import annotations

import datetime as dt
import json
import math
from typing import Any, Final

from fastapi import Response
from jinja2 import Environment, PackageLoader, StrictUndefined

#: Nothing of a page is from elsewhere, nothing in it is code but the one script, and it is framed nowhere.
HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:;"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}

_templates = Environment(
    loader=PackageLoader("rest.ui"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)


def page(template: str, *, status: int = 200, **values: Any) -> Response:
    """A page as a response. Every value is text: nothing in a configuration or a trace is markup."""
    text = _templates.get_template(template).render(**values)
    return Response(text, status, HEADERS, media_type="text/html; charset=utf-8")


def count(value: float | None) -> str:
    """12, 3,400, 5.6 M; a dash for an unknown number."""
    if value is None or math.isnan(value):
        return "-"
    if value >= 1_000_000:
        return f"{value / 1_000_000:,.1f} M"
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:,.1f}"


def duration(milliseconds: float | None) -> str:
    """250 ms, 1.5 s, 12 min; a dash for an unknown one."""
    if milliseconds is None or math.isnan(milliseconds):
        return "-"
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms" if milliseconds >= 10 or milliseconds == 0 else f"{milliseconds:.1f} ms"
    seconds = milliseconds / 1000
    return f"{seconds:,.1f} s" if seconds < 120 else f"{seconds / 60:,.0f} min"


def iso(milliseconds: float) -> str:
    """A time since the epoch, to the second, in UTC; as it is where no calendar has it.

    A record may have any number as its timestamp: microseconds, say.
    """
    try:
        return dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return f"{milliseconds} ms"


def plain_json(value: Any) -> str:
    """A value as JSON on one line, as people read it; the template escapes it."""
    return json.dumps(value, ensure_ascii=False)


_templates.filters["json"] = plain_json
_templates.filters["count"] = count
_templates.filters["iso"] = iso
