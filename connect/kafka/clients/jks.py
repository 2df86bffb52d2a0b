"""Reads stores in Java's old format, JKS: trusted certificates, and private keys with their chains.

No maintained library reads it: the last pyjks is of April 2020. The format is small and will not change: since Java 9
keytool writes PKCS#12 unless told otherwise. Its SHA-1 protects no secret; a store is as safe as its file is.

    magic FEEDFEED | version | entries | SHA-1 of password, "Mighty Aphrodite" and all before
    entry: 1 | alias | time | encrypted key | chain       or 2 | alias | time | certificate

The key is PKCS#8, encrypted with Sun's key protector (OID 1.3.6.1.4.1.42.2.17.1.1): XOR with SHA-1 of password and
salt, each block the salt of the next, between the first salt and SHA-1 of password and key.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

MAGIC = bytes.fromhex("feedfeed")
_KEY, _TRUSTED = 1, 2
_PROTECTOR = bytes.fromhex("060a2b060104012a02110101")  # its OID in DER
_WHITENER = b"Mighty Aphrodite"
_SHA1 = 20


class JksError(ValueError):
    """A store cannot be read; one line says why."""


class WrongPassword(JksError):
    """The password is wrong: the store's, or a key's."""


@dataclass(frozen=True)
class EncryptedKey:
    """A private key as it is stored.

    Attributes:
        chain: DER certificates, its own first.
    """

    alias: str
    chain: tuple[bytes, ...]
    _encrypted: bytes = field(repr=False)

    def private_key(self, password: str) -> bytes:
        """The key in PKCS#8, DER.

        Raises:
            WrongPassword: the key has another one.
            JksError: it is encrypted in another way.
        """
        secret = password.encode("utf-16-be")
        salted = _protected(self._encrypted, self.alias)
        salt, hidden, check = salted[:_SHA1], salted[_SHA1:-_SHA1], salted[-_SHA1:]
        key = bytes(one ^ other for one, other in zip(hidden, _stream(secret, salt), strict=False))
        if not hmac.compare_digest(_sha1(secret + key), check):
            raise WrongPassword(f'the password of the key "{self.alias}" is wrong')
        return key


@dataclass(frozen=True)
class JksStore:
    """The content of a store, in order.

    Attributes:
        keys: private keys.
        trusted: DER certificates by their aliases.
    """

    keys: tuple[EncryptedKey, ...]
    trusted: dict[str, bytes]


def read_jks(data: bytes, password: str | None) -> JksStore:
    """Read a store.

    Args:
        data: the file.
        password: of the store; None skips the integrity check, as in Java.

    Raises:
        WrongPassword: the password, or the file, is not what it was when the store was written.
        JksError: the file is no such store, or truncated.
    """
    store = _parse(data)
    if password is not None:
        digest = _sha1(password.encode("utf-16-be") + _WHITENER + data[:-_SHA1])
        if not hmac.compare_digest(digest, data[-_SHA1:]):
            raise WrongPassword("the password of the store is wrong, or the file was changed")
    return store


def _parse(data: bytes) -> JksStore:
    reader = _Reader(data[:-_SHA1])
    if reader.take(4) != MAGIC:
        raise JksError("it is not a JKS store")
    version = reader.number()
    if version not in (1, 2):
        raise JksError(f"version {version} of JKS is not known")

    def certificate() -> bytes:
        if version == 2 and (kind := reader.text()) != "X.509":
            raise JksError(f"it holds a certificate of type {kind}, not X.509")
        return reader.block()

    keys: list[EncryptedKey] = []
    trusted: dict[str, bytes] = {}
    for _ in range(reader.number()):
        kind, alias, _time = reader.number(), reader.text(), reader.take(8)
        if kind == _KEY:
            encrypted = reader.block()
            keys.append(EncryptedKey(alias, tuple(certificate() for _ in range(reader.number())), encrypted))
        elif kind == _TRUSTED:
            trusted[alias] = certificate()
        else:
            raise JksError(f"it holds an entry of kind {kind}, which JKS does not have")
    if reader.rest():
        raise JksError("something follows its last entry")
    return JksStore(tuple(keys), trusted)


class _Reader:
    """Java's DataInput over bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, length: int) -> bytes:
        if self._at + length > len(self._data):
            raise JksError("the file is truncated")
        self._at += length
        return self._data[self._at - length : self._at]

    def number(self) -> int:
        return int.from_bytes(self.take(4))

    def block(self) -> bytes:
        return self.take(self.number())

    def text(self) -> str:
        # Java's own UTF-8 writes what lies beyond U+FFFF as a pair of surrogates; an alias is only shown.
        return self.take(int.from_bytes(self.take(2))).decode("utf-8", "replace")

    def rest(self) -> int:
        return len(self._data) - self._at


def _protected(encrypted: bytes, alias: str) -> bytes:
    """The salted bytes in EncryptedPrivateKeyInfo: SEQUENCE { SEQUENCE { OID, ... }, OCTET STRING }."""
    body, rest = _der(encrypted, 0x30)
    algorithm, content = _der(body, 0x30)
    salted, behind = _der(content, 0x04)
    if not algorithm.startswith(_PROTECTOR):
        raise JksError(f'the key "{alias}" is not encrypted as keys in JKS stores are')
    if rest or behind or len(salted) < 2 * _SHA1:
        raise JksError(f'the key "{alias}" is malformed')
    return salted


def _der(data: bytes, tag: int) -> tuple[bytes, bytes]:
    """The content of the DER element at the beginning, and what follows it."""
    if len(data) < 2 or data[0] != tag:
        raise JksError("a key in it is malformed")
    length, begin = data[1], 2
    if length & 0x80:
        begin += length & 0x7F
        length = int.from_bytes(data[2:begin])
    if begin + length > len(data):
        raise JksError("a key in it is truncated")
    return data[begin : begin + length], data[begin + length :]


def _stream(secret: bytes, salt: bytes) -> Iterator[int]:
    while True:
        salt = _sha1(secret + salt)
        yield from islice(salt, _SHA1)


def _sha1(data: bytes) -> bytes:
    return hashlib.sha1(data, usedforsecurity=False).digest()
