"""The login of a command: a user with a password, a token or a certificate. No secret is an argument.

The command line has precedence over the URL, and that over the environment.
"""

from __future__ import annotations

import argparse
import base64
import getpass
import os
import ssl
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, unquote

from connect.errors import ConfigError
from connect.telemetry.redaction import redactor


@dataclass(frozen=True)
class Credentials:
    """The login on the command line.

    Attributes:
        user: a name; the password comes from `password_file`, CONNECT_PASSWORD or, if `ask`, the terminal.
        token_file: holds a bearer token.
        cert, key: PEM files for https: a certificate, and its key where that is not in the same file.
        ask: whether the terminal may be asked.
    """

    user: str | None = None
    password_file: str | None = None
    token_file: str | None = None
    cert: str | None = None
    key: str | None = None
    ask: bool = True

    def authorization(self, url: SplitResult) -> dict[str, str]:
        """The header of the login; empty without one. Raises ConfigError."""
        if self.token_file:
            return _bearer(_first_line(self.token_file, "--token-file"), "--token-file")
        if self.user:
            return _basic(self.user, self._password(self.user))
        if url.username is not None and url.password is not None:
            return _basic(unquote(url.username), unquote(url.password))
        token = os.environ.get("CONNECT_TOKEN") if url.username is None else unquote(url.username)
        if token:
            return _bearer(token, "CONNECT_TOKEN")
        if both := os.environ.get("CONNECT_AUTH"):
            name, colon, password = both.partition(":")
            if not colon:
                raise ConfigError("CONNECT_AUTH", "write user:password.")
            return _basic(name, password)
        return {}

    def show_certificate(self, context: ssl.SSLContext) -> None:
        """Use the certificate, if there is one, for connections with this context. Raises ConfigError."""
        if not self.cert:
            if self.key:
                raise ConfigError("--key", "has no effect without --cert.")
            return
        try:
            context.load_cert_chain(self.cert, self.key, self._key_password)
        except (OSError, ssl.SSLError) as error:
            missing = isinstance(error, FileNotFoundError)
            why = "there is no such file" if missing else "it holds no certificate with its key in PEM form"
            raise ConfigError(
                "--cert", f"{self.cert}: {why}. Where the key is in a file of its own, name it."
            ) from error

    def _password(self, name: str) -> str:
        if ":" in name:
            raise ConfigError(
                "--user", "write only the name: other users can see a command line. The command asks for the password."
            )
        if self.password_file:
            return _first_line(self.password_file, "--password-file")
        password = os.environ.get("CONNECT_PASSWORD")
        if password is None and self.ask and sys.stdin.isatty():
            password = getpass.getpass(f"Password of {name}: ")
        if password is None:
            raise ConfigError(
                "--user", "there is no terminal to ask for the password at: set CONNECT_PASSWORD, or name a file."
            )
        return password

    def _key_password(self) -> str:
        password = os.environ.get("CONNECT_KEY_PASSWORD")
        if password is None and self.ask and sys.stdin.isatty():
            password = getpass.getpass(f"Password of the key of {self.cert}: ")
        if password is None:
            raise ConfigError("--key", "it is encrypted: set CONNECT_KEY_PASSWORD.")
        redactor.remember([password])
        return password


def add_credentials(parser: argparse._ArgumentGroup, key: str = "--key") -> None:
    """Declare the options of the login. `key` replaces --key, where that means something else."""
    parser.add_argument(
        "--user", metavar="NAME", help="log in; the command asks for the password, or reads CONNECT_PASSWORD"
    )
    parser.add_argument("--password-file", metavar="FILE", help="holds the password of --user")
    parser.add_argument("--token-file", metavar="FILE", help="holds a bearer token; CONNECT_TOKEN is one")
    parser.add_argument("--cert", metavar="FILE", help="PEM file with a client certificate for https")
    parser.add_argument(
        key, dest="cert_key", metavar="FILE", help="PEM file with its key, if it is not with the certificate"
    )


def credentials_of(args: argparse.Namespace) -> Credentials:
    """The login of the command line."""
    return Credentials(args.user, args.password_file, args.token_file, args.cert, args.cert_key)


def _first_line(path: str, option: str) -> str:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise ConfigError(option, f"{path} cannot be read: {why}.") from error
    if not lines or not lines[0]:
        raise ConfigError(option, f"{path} is empty.")
    return lines[0]


def _bearer(token: str, key: str) -> dict[str, str]:
    token = token.strip()
    redactor.remember([token])
    if not token.isascii() or not token.isprintable():
        raise ConfigError(key, "a token has only printable ASCII characters; this one has others.")
    return {"Authorization": f"Bearer {token}"}


def _basic(name: str, password: str) -> dict[str, str]:
    redactor.remember([password])
    return {"Authorization": f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"}
