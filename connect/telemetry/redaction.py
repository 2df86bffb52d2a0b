"""Keeps secrets out of texts: known ones, and what looks like one.

Code that fills a secret into a configuration registers it here, in the process that uses it. Logs are redacted when
they are written (`connect.telemetry.logs`); traces, statuses and errors by the code that passes them on.
"""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

from connect.errors import MASK
from connect.telemetry.secret_shapes import Span, secrets_in

__all__ = ["MASK", "RedactingFilter", "Redactor", "names_a_secret", "redactor", "shown"]

# Shorter ones would tear holes into every text, and protect nothing.
_SHORTEST = 4
# A mask makes neighbours of what was apart, so a text is looked at again. The second time there is seldom anything.
_ROUNDS = 8

_NAMES_A_SECRET = re.compile(
    r"password|passwd|passphrase|passcode|secret|credential"
    r"|(?:token|authorization|user\.info|jaas\.config"
    r"|(?:api|access|private|account|encryption|sas|signature|signing|shared|master|keystore|ssl|tls|hmac)[._-]?key)"
    r"(?:\.[\w-]{1,63}+\.(?:dfs|blob)\.[\w.]{1,100}+)?$"  # Hadoop's for Azure end with the account
    r"|fs\.azure\.sas\.(?!token\.provider)"
    r"|(?:^|[._-])(?:pass|pwd|pin|pat|bearer|sig|signature|cookie)$",
    re.IGNORECASE,
)
_VARIABLES = re.compile(r"\s*(?:\$\{[^}:]*:[^}]*\}\s*)+")
_BEARER = re.compile(r"(\s*bearer\s+)(?!\$\{)[^\s,;]+\s*", re.IGNORECASE)


def names_a_secret(key: str) -> bool:
    """Whether the name of a setting says that its value is secret; for undeclared settings."""
    return _NAMES_A_SECRET.search(key) is not None


def shown(value: str, *, secret: bool) -> str:
    """A setting's value for display: variables of config providers (`${file:/etc/db:password}`) as they are."""
    if not value or _VARIABLES.fullmatch(value):
        return value
    if secret:
        return MASK
    if bearer := _BEARER.fullmatch(value):  # in a text it would have to look like a token, too
        return bearer[1] + MASK
    return redactor.redact(value, whole=True)


class Redactor:
    """Hides secrets in texts. Safe to use from many threads."""

    def __init__(self) -> None:
        self._known: frozenset[str] = frozenset()
        self._lock = threading.Lock()

    def remember(self, secrets: Iterable[str]) -> None:
        """Hide these from now on, also inside JSON and URLs. Those shorter than 4 characters are not hidden."""
        spellings = {text for secret in secrets for text in _spellings(secret) if len(text) >= _SHORTEST}
        with self._lock:
            self._known |= spellings

    @property
    def known(self) -> int:
        """The number of texts that it hides. What was redacted with fewer may have to be redacted again."""
        return len(self._known)

    @property
    def hidden(self) -> frozenset[str]:
        """The texts that it hides: for another process, in whose log this one's secrets may be."""
        return self._known

    def redact(self, text: str, *, whole: bool = False) -> str:
        """The text with every secret replaced by `[hidden]`; a redacted one stays as it is.

        Args:
            whole: it is the value of a setting; see `secrets_in`.
        """
        for _ in range(_ROUNDS):
            spans = [*self._known_in(text), *secrets_in(text, whole=whole)]
            if not spans:
                break
            text = _masked(text, spans)
        return text

    def hide(self, text: str) -> str:
        """The text without known secrets; what only looks like one stays, as examples in documentation."""
        return _masked(text, list(self._known_in(text)))

    def _known_in(self, text: str) -> Iterator[Span]:
        # A pattern of all secrets would have to be compiled again for each new one. Most texts have none.
        found = [secret for secret in self._known if secret in text]
        if not found:
            return
        longest_first = sorted(found, key=len, reverse=True)  # one secret may be part of another
        for match in re.finditer("|".join(map(re.escape, [MASK, *longest_first])), text):
            if match[0] != MASK:
                yield Span(*match.span())


class RedactingFilter(logging.Filter):
    """Redacts a log record: its message, its arguments, its trace and its stack. Put it on a handler."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record through, redacted."""
        redact = self._redactor.redact
        try:
            message = record.getMessage()
        except Exception:  # raising here would fail the code that logs; the handler would only have complained
            message = f"{record.msg} (with arguments that do not fit)"
        record.msg, record.args = redact(message), None
        if record.exc_info and not record.exc_text:
            record.exc_text = _FORMATTER.formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = redact(record.exc_text)
        if record.stack_info:
            record.stack_info = redact(record.stack_info)
        return True


_FORMATTER = logging.Formatter()


def _masked(text: str, spans: list[Span]) -> str:
    """The text with a mask in the place of these, which may overlap."""
    parts = []
    shown = 0
    for start, end in sorted(spans):
        if start >= shown:
            parts += [text[shown:start], MASK]
        shown = max(shown, end)
    return "".join([*parts, text[shown:]])


def _spellings(secret: str) -> Iterator[str]:
    # A file that holds nothing but a secret mostly ends with a line end, which the settings that take it cut off.
    for text in {secret, secret.strip()}:
        yield text
        yield json.dumps(text)[1:-1]
        yield json.dumps(text, ensure_ascii=False)[1:-1]
        yield repr(text)[1:-1]
        yield quote(text, safe="")
        yield quote_plus(text)
    if len(lines := secret.splitlines()) > 1:  # a key in PEM form is logged line by line
        yield from (line.strip() for line in lines)


#: The secrets of this process.
redactor = Redactor()
