"""The file of rest.security.tokens.file: a line for each bearer token (RFC 6750), without the token itself.

    # name:hash[:expiry]
    ci:sha256$9f86d081...:2027-01-31
    terraform:sha256$60303ae2...

`connect tokens create ci` writes it and shows the token, once. A token is 256 random bits, so a fast hash is enough.
The expiry is a day, to its end, or a time with its zone (2027-01-31T12:00:00Z).
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta, timezone
from typing import Final

from rest.security.files import LineError, entries, name_error

#: How tokens begin, so that scanners for secrets recognise them.
PREFIX: Final = "connect_"
_HASH: Final = re.compile(r"sha256\$([0-9a-fA-F]{64})")


@dataclass(frozen=True, slots=True)
class Token:
    """The hash of a token. `expires` is None for one that never does."""

    name: str
    digest: bytes
    expires: datetime | None = None

    def expired(self, now: datetime) -> bool:
        """Whether it is no longer valid."""
        return self.expires is not None and now >= self.expires

    def __str__(self) -> str:
        end = "" if self.expires is None else f":{self.expires.isoformat().replace('+00:00', 'Z')}"
        return f"{self.name}:sha256${self.digest.hex()}{end}"


def new_token(name: str, expires: datetime | None = None) -> tuple[Token, str]:
    """A token, and its secret, which is shown once."""
    secret = PREFIX + secrets.token_urlsafe(32)
    return Token(name, digest(secret), expires), secret


def digest(secret: str) -> bytes:
    """The hash of a token."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()


@dataclass(frozen=True, eq=False)
class Tokens:
    """All tokens, by their hashes."""

    by_digest: Mapping[bytes, Token]

    def find(self, secret: str) -> Token | None:
        """The token that was sent, expired or not."""
        sent = digest(secret)
        found = self.by_digest.get(sent)
        return found if found is not None and hmac.compare_digest(found.digest, sent) else None


def parse_tokens(text: str) -> Tokens:
    """What the file holds. Raises LineError."""
    found: dict[bytes, Token] = {}
    for number, line in entries(text):
        name, _, rest = line.partition(":")
        written, _, end = rest.partition(":")
        if wrong := name_error(name):
            raise LineError(number, wrong)
        match = _HASH.fullmatch(written)
        if match is None:
            raise LineError(number, f'token "{name}": the text behind the name is not sha256$<64 hexadecimal digits>.')
        sent = bytes.fromhex(match[1])
        if sent in found or any(name == other.name for other in found.values()):
            raise LineError(number, f'token "{name}" stands here twice. Remove one of the lines.')
        try:
            found[sent] = Token(name, sent, expiry(end) if end else None)
        except ValueError as error:
            raise LineError(number, f'token "{name}": {error}') from error
    return Tokens(found)


def expiry(text: str) -> datetime:
    """The expiry of a token. Raises ValueError."""
    try:
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
            day = datetime.fromisoformat(text).date()
            return datetime.combine(day, time(), timezone.utc) + timedelta(days=1)  # noqa: UP017
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise ValueError(f'"{text}" is not an expiry. Write a day, 2027-01-31, or a moment, 2027-01-31T12:00:00Z.')
    return found
