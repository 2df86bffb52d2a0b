"""Signatures of requests between workers."""

import base64

import pytest

from connect import peers
from connect.errors import ConfigError

# https://www.rfc-editor.org/rfc/rfc4231 test case 2, https://www.rfc-editor.org/rfc/rfc2202 test case 2
KEY, BODY = b"Jefe", b"what do ya want for nothing?"
KNOWN = {
    "HmacSHA256": "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
    "HmacSHA1": "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79",
    "HmacMD5": "750c783e6ab0b503eaa86e310a5db738",
}


@pytest.mark.parametrize("algorithm", KNOWN)
def test_a_signature_is_the_standards_in_base64(algorithm: str) -> None:
    right = base64.b64encode(bytes.fromhex(KNOWN[algorithm])).decode()
    assert peers.sign(KEY, BODY, algorithm) == right
    assert peers.sign(KEY, BODY, algorithm.upper()) == right
    assert peers.verify(KEY, BODY, right, algorithm)


@pytest.mark.parametrize("signature", ["", "no base64", "\xe4\u20ac", "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM"])
def test_anything_else_is_none(signature: str) -> None:
    assert not peers.verify(KEY, BODY, signature, "HmacSHA256")


def test_another_key_or_body_has_another() -> None:
    signature = peers.sign(KEY, BODY, "HmacSHA256")
    assert not peers.verify(KEY + b"\1", BODY, signature, "HmacSHA256")
    assert not peers.verify(KEY, BODY + b" ", signature, "HmacSHA256")


def test_an_algorithm_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigError, match="HmacSHA999.*HmacSHA256"):
        peers.sign(KEY, BODY, "HmacSHA999")
