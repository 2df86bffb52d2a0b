"""Hashes of passwords, by scrypt (RFC 7914), in the form that passlib and others write:

    $scrypt$ln=15,r=8,p=3$<salt>$<hash>        N = 2^ln; salt and hash in base64 without padding

The costs are those of OWASP's password storage cheat sheet for 32 MiB: some tenths of a second of one core.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from typing import Final

_FORM = re.compile(r"\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{43,86})")
_OTHERS: Final = {
    "$2": "bcrypt",
    "$apr1$": "Apache's MD5",
    "$1$": "MD5",
    "$5$": "SHA-256 of crypt",
    "$6$": "SHA-512 of crypt",
    "$y$": "yescrypt",
    "$argon2": "argon2",
    "{SHA}": "SHA-1",
    "{SSHA}": "SHA-1",
    "MD5:": "Jetty's MD5",
    "CRYPT:": "crypt",
    "OBF:": "Jetty's obfuscation, which hides nothing",
}
_MOST_MEMORY: Final = 256 * 2**20
_MOST_WORK: Final = 2**24


@dataclass(frozen=True, slots=True)
class PasswordHash:
    """The hash of a password.

    Attributes:
        ln, r, p: costs: 2^ln rounds of r blocks, p times; 128 * r * 2^ln bytes of memory.
    """

    ln: int
    r: int
    p: int
    salt: bytes
    digest: bytes

    @classmethod
    def make(cls, password: str, *, ln: int = 15, r: int = 8, p: int = 3) -> PasswordHash:
        """The hash of a password, with a salt of its own."""
        salt = secrets.token_bytes(16)
        return cls(ln, r, p, salt, _scrypt(password, salt, ln, r, p, 32))

    @classmethod
    def of_nobody(cls, ln: int = 15, r: int = 8, p: int = 3) -> PasswordHash:
        """A hash that no password matches, at these costs."""
        return cls(ln, r, p, secrets.token_bytes(16), secrets.token_bytes(32))

    @classmethod
    def parse(cls, text: str) -> PasswordHash:
        """A hash as it is written. Raises ValueError, which never shows it."""
        match = _FORM.fullmatch(text)
        if match is None:
            kind = next((kind for start, kind in _OTHERS.items() if text.startswith(start)), None)
            what = f"a hash by {kind}, which is not supported" if kind else "not the hash of a password"
            raise ValueError(f"the text behind the name is {what}. Let `connect users passwd` write it.")
        ln, r, p = (int(number) for number in match.group(1, 2, 3))
        if not (ln and r and p) or 128 * r * 2**ln > _MOST_MEMORY or r * p * 2**ln > _MOST_WORK:
            raise ValueError("the costs of this hash are out of bounds. Let `connect users passwd` write it.")
        try:
            return cls(ln, r, p, _decoded(match[4]), _decoded(match[5]))
        except binascii.Error as error:
            raise ValueError("the hash is not base64. Let `connect users passwd` write it.") from error

    def __str__(self) -> str:
        return f"$scrypt$ln={self.ln},r={self.r},p={self.p}${_encoded(self.salt)}${_encoded(self.digest)}"

    def __repr__(self) -> str:
        return "PasswordHash([hidden])"

    def matches(self, password: str) -> bool:
        """Whether this is the password. Slow on purpose, and equally so for every password."""
        made = _scrypt(password, self.salt, self.ln, self.r, self.p, len(self.digest))
        return hmac.compare_digest(made, self.digest)


def _scrypt(password: str, salt: bytes, ln: int, r: int, p: int, length: int) -> bytes:
    memory = 128 * r * (2**ln + p + 2) + 2**20
    return hashlib.scrypt(password.encode(), salt=salt, n=2**ln, r=r, p=p, maxmem=memory, dklen=length)


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
