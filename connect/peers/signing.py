"""Signs requests between workers with the session key that the leader distributes (KIP-507)."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Final

from connect.errors import ConfigError

SIGNATURE_HEADER: Final = "X-Connect-Authorization"
ALGORITHM_HEADER: Final = "X-Connect-Request-Signature-Algorithm"

#: Java's names of MAC algorithms, and the hashes they are made with.
_HASHES: Final = {
    "hmacmd5": hashlib.md5,
    "hmacsha1": hashlib.sha1,
    "hmacsha224": hashlib.sha224,
    "hmacsha256": hashlib.sha256,
    "hmacsha384": hashlib.sha384,
    "hmacsha512": hashlib.sha512,
}


def sign(key: bytes, body: bytes, algorithm: str) -> str:
    """The signature of a body, as its header has it.

    Raises:
        ConfigError: there is no such algorithm here.
    """
    made = _HASHES.get(algorithm.lower().replace("-", ""))
    if made is None:
        known = ", ".join(sorted(name.replace("hmac", "Hmac").replace("sha", "SHA") for name in _HASHES))
        raise ConfigError("inter.worker.signature.algorithm", f'"{algorithm}" is not known here. Write one of {known}.')
    return base64.b64encode(hmac.new(key, body, made).digest()).decode()


def verify(key: bytes, body: bytes, signature: str, algorithm: str) -> bool:
    """Whether a body carries this key's signature. Takes as long for a wrong one as for the right one."""
    right = sign(key, body, algorithm)
    return hmac.compare_digest(right.encode(), signature.encode("utf-8", "replace"))  # a header may be any text
