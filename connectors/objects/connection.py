"""How stores are reached: what their connectors' keys of a connection have in common, under the names of each."""

from __future__ import annotations

from urllib.parse import quote, urlsplit, urlunsplit

from connect import settings
from connect.settings import Secret

CONNECTION = "Connection"


def check_address(_: str, value: str) -> None:
    """A validator: the address of a server, or nothing."""
    if value and (urlsplit(value).scheme not in ("http", "https") or not urlsplit(value).hostname):
        raise ValueError("is not an address. Write http://host:port or https://host.")


def proxy_url(key: str) -> settings.Setting[str]:
    """The key for a proxy."""
    return settings.String(
        key,
        default="",
        importance="LOW",
        group=CONNECTION,
        validator=check_address,
        doc="An HTTP proxy for all requests: http://host:port. Default: as HTTPS_PROXY and NO_PROXY say.",
    )


def proxy_user(key: str) -> settings.Setting[str | None]:
    """The key for the user name at the proxy."""
    return settings.String(key, default=None, importance="LOW", group=CONNECTION, doc="The user name at the proxy.")


def proxy_password(key: str) -> settings.Setting[Secret | None]:
    """The key for the password at the proxy."""
    return settings.Password(key, default=None, importance="LOW", group=CONNECTION, doc="The password at the proxy.")


def retries(key: str) -> settings.Setting[int]:
    """The key for how often the client repeats a request."""
    return settings.Int(
        key,
        default=3,
        group=CONNECTION,
        validator=settings.at_least(0),
        doc="How often the client repeats a request by itself after a temporary error.",
    )


def backoff(key: str, default: int, more: str = "") -> settings.Setting[float]:
    """The key for the first pause, in milliseconds; the value is in seconds. `more` ends the documentation."""
    return _time(key, default, f"The first pause after such an error.{more}", least=0)


def longest_backoff(key: str, default: int) -> settings.Setting[float]:
    """The key for the longest pause, in milliseconds; the value is in seconds."""
    return _time(key, default, "The longest pause.", least=0)


def connect_timeout(key: str, default: int) -> settings.Setting[float]:
    """The key for how long to wait for a connection, in milliseconds; the value is in seconds."""
    return _time(key, default, "How long to wait for a connection.", least=1)


def request_timeout(key: str) -> settings.Setting[float]:
    """The key for how long to wait for a response, in milliseconds; the value is in seconds."""
    return _time(key, 60_000, "How long to wait for a response, or for its next bytes.", least=1)


def _time(key: str, default: int, doc: str, *, least: int) -> settings.Setting[float]:
    return settings.Long(
        key,
        default=default,
        importance="LOW",
        group=CONNECTION,
        validator=settings.at_least(least),
        convert=settings.seconds,
        doc=doc,
    )


def with_user(proxy: str, user: str | None, password: Secret | None) -> str:
    """The address of a proxy with its user and password, if there are any."""
    if not user:
        return proxy
    parts = urlsplit(proxy)
    login = quote(user, safe="")
    if password is not None:
        login += ":" + quote(password.reveal(), safe="")
    return urlunsplit(parts._replace(netloc=f"{login}@{parts.netloc.rpartition('@')[2]}"))
