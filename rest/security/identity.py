"""Who asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["user", "token", "certificate"]


@dataclass(frozen=True, slots=True)
class Identity:
    """Someone who proved who they are: a user by a password, the holder of a token or of a certificate.

    Written as roles and the audit log have it: user:alice, token:ci, certificate:CN=ops,O=Example.
    """

    kind: Kind
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    @property
    def method(self) -> str:
        """How it was proved, as rest.security.authentication has it."""
        return {"user": "basic", "token": "bearer", "certificate": "certificate"}[self.kind]
