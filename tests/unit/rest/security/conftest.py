import base64
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rest.security import passwords
from rest.security.passwords import PasswordHash
from rest.security.tokens import digest

ROLES = """
[groups]
readers = ["user:vera", "token:ci"]

[[grant]]
role = "viewer"
to = ["group:readers"]
connectors = ["a*"]

[[grant]]
role = "operator"
to = ["user:otto"]
connectors = ["a*"]

[[grant]]
role = "editor"
to = ["user:edna", "certificate:CN=ops,O=Example"]
connectors = ["a*"]

[[grant]]
role = "editor"
to = ["user:tess"]
connectors = ["a*"]
secrets = true

[[grant]]
role = "viewer"
to = ["user:edna", "user:tess"]

[[grant]]
role = "admin"
to = ["user:ada"]
"""
TOKEN = "connect_of-ci"
USERS = ("vera", "otto", "edna", "tess", "ada", "nobody")


def basic(name: str, password: str | None = None) -> dict[str, str]:
    """The header of a user; the password is the name's, unless another is given."""
    text = f"{name}:{f'pw-{name}' if password is None else password}"
    return {"Authorization": "Basic " + base64.b64encode(text.encode()).decode()}


def bearer(token: str = TOKEN) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


class Guarded:
    """Files, an app that is guarded by them, and its audit log."""

    def __init__(self, folder: Path, serve: Callable[..., Any]) -> None:
        self.folder = folder
        self._serve = serve
        self.users = self.write("users", "".join(f"{name}:{quick(f'pw-{name}')}\n" for name in USERS))
        self.tokens = self.write("tokens", f"ci:sha256${digest(TOKEN).hex()}\n")
        self.roles = self.write("roles.toml", ROLES)
        self.log = folder / "audit.log"
        self.settings = {
            "rest.security.authentication": "basic,bearer",
            "rest.security.users.file": str(self.users),
            "rest.security.tokens.file": str(self.tokens),
            "rest.security.roles.file": str(self.roles),
            "rest.security.audit.log": str(self.log),
        }

    def write(self, name: str, text: str) -> Path:
        """A file as an editor writes it: a new one in the place of the old."""
        path = self.folder / name
        fresh = path.with_suffix(".fresh")
        fresh.write_text(text)
        fresh.chmod(0o600)
        fresh.replace(path)
        return path

    def serve(self, settings: Mapping[str, str] | None = None, **options: Any) -> Any:
        return self._serve({**self.settings, **(settings or {})}, **options)

    def lines(self) -> list[dict[str, Any]]:
        """What the audit log says."""
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []


def quick(password: str) -> PasswordHash:
    """A hash that costs next to nothing."""
    return PasswordHash.make(password, ln=4, r=1, p=1)


@pytest.fixture
def guarded(tmp_path: Path, serve: Callable[..., Any]) -> Guarded:
    return Guarded(tmp_path, serve)


@pytest.fixture
def client(guarded: Guarded) -> Any:
    return guarded.serve()


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The passwords that were looked at the slow way."""
    seen: list[str] = []
    slow: Callable[..., bytes] = passwords._scrypt

    def count(password: str, *args: Any) -> bytes:
        seen.append(password)
        return slow(password, *args)

    monkeypatch.setattr(passwords, "_scrypt", count)
    return seen


@pytest.fixture(autouse=True)
def _umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)
