"""response.http.headers.config: headers of every response.

    add X-Frame-Options: DENY, "set Cache-Control: no-cache, no-store", addDate Expires: 3600000

`set` replaces, `add` adds; with `Date` the value is milliseconds from now. A rule with a comma stands in quotes.

https://kafka.apache.org/documentation/#connectconfigs_response.http.headers.config (KIP-577)
"""

from __future__ import annotations

import csv
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from email.utils import formatdate

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from connect.errors import ConfigError

KEY = "response.http.headers.config"
_RULE = re.compile(r"(set|add|setDate|addDate)\s+([^\s:]+)\s*:\s*(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class HeaderRule:
    """One header."""

    action: str
    name: str
    value: str

    def apply(self, headers: MutableHeaders) -> None:
        """Apply it to a response."""
        value = self.value
        if self.action.endswith("Date"):
            value = formatdate(time.time() + int(value) / 1000, usegmt=True)
        if self.action.startswith("add"):
            headers.append(self.name, value)
        else:
            headers[self.name] = value


def parse_rules(text: str) -> list[HeaderRule]:
    """Parse the value of the key. Raises ConfigError."""
    if not text.strip():
        return []
    found = []
    for written in next(csv.reader([text], skipinitialspace=True)):
        match = _RULE.fullmatch(written.strip())
        if match is None:
            raise ConfigError(KEY, f'"{written}" is not a rule. Write one like: add X-Frame-Options: DENY')
        rule = HeaderRule(match[1], match[2], match[3].strip())
        if rule.action.endswith("Date") and not re.fullmatch(r"-?\d+", rule.value):
            raise ConfigError(KEY, f'"{written}" needs milliseconds from now, like: addDate Expires: 3600000')
        found.append(rule)
    return found


class ResponseHeaders:
    """Adds headers to every response of an app."""

    def __init__(self, app: ASGIApp, rules: Sequence[HeaderRule]) -> None:
        self._app = app
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for rule in self._rules:
                    rule.apply(headers)
            await send(message)

        await self._app(scope, receive, with_headers if scope["type"] == "http" else send)
