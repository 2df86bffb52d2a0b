"""Secrets in the query of a URL, such as `?api_key=..`: a URL is stored and shown without them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import unquote_plus, urlsplit

from connect.errors import MASK
from connect.telemetry.redaction import names_a_secret


def secrets_of(url: str) -> dict[str, str]:
    """The parameters of a URL whose names say that they are secret; values as they stand there."""
    items = (item.partition("=") for item in urlsplit(url).query.split("&"))
    return {name: value for name, _, value in items if value and names_a_secret(unquote_plus(name))}


def without(url: str, secrets: Mapping[str, str]) -> str:
    """A URL with a mask in place of each of these parameters."""
    plain = {name: unquote_plus(value) for name, value in secrets.items()}
    return _each(url, lambda name, value: MASK if plain.get(name) == unquote_plus(value) else value)


def filled_in(url: str, secrets: Mapping[str, str]) -> str:
    """The URL that a masked one was made of."""
    return _each(url, lambda name, value: secrets.get(name, value) if value == MASK else value)


def _each(url: str, change: Callable[[str, str], str]) -> str:
    before, mark, rest = url.partition("?")
    query, hash_, fragment = rest.partition("#")
    parts = (item.partition("=") for item in query.split("&"))
    items = [f"{name}={change(name, value)}" if equals else name for name, equals, value in parts]
    return f"{before}{mark}{'&'.join(items)}{hash_}{fragment}"
