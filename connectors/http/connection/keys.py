"""The keys of source and sink: Aiven's names where its sink has them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import quote, urlsplit

from connect import ConfigError, settings
from connect.http import machine_proxy
from connect.settings import Secret, Setting

_LOGIN: Final = "Login"
_OAUTH2: Final = "OAuth 2"
_SERVER: Final = "Server"
_TLS: Final = "TLS"

NONE: Final = "none"
STATIC: Final = "static"
API_KEY: Final = "apikey"
BASIC: Final = "basic"
OAUTH2: Final = "oauth2"

#: Which logins a key is for. With another one it would not be sent, and nobody would know.
_FOR: Final = {
    "http.headers.authorization": (STATIC, API_KEY),
    "http.authorization.header": (STATIC, API_KEY),
    "http.authorization.class": (STATIC, API_KEY),
    "http.username": (BASIC,),
    "http.password": (BASIC,),
}

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
#: Letters that Python's codec spells in another way than browsers and registries do: ß as ss, for example.
_DEVIATIONS: Final = frozenset("\u00df\u03c2\u200c\u200d\u1e9e")
#: Java's keys behind http.: kind of setting and doc.
_SSL: Final = (
    ("ssl.truststore.location", "String", "A file with the certificates that are trusted; this machine's if none."),
    ("ssl.truststore.password", "Password", "Its password."),
    ("ssl.truststore.type", "String", "PEM, PKCS12 or JKS. The last two are told apart by their content."),
    ("ssl.truststore.certificates", "Password", "The certificates themselves, as PEM, instead of a file."),
    ("ssl.keystore.location", "String", "A file with our own certificate and its key, for mutual TLS."),
    ("ssl.keystore.password", "Password", "Its password."),
    ("ssl.keystore.type", "String", "PEM, PKCS12 or JKS."),
    ("ssl.key.password", "Password", "The key's password, where it has one of its own."),
)


def web_address(written: str) -> str:
    """A URL, with any path and query. Raises ValueError, which does not show it: a login may be in it."""
    try:
        parts = urlsplit(written)
        right = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        if right and not _DEVIATIONS & set(parts.netloc):
            if not parts.netloc.isascii():  # requests and certificates have names in ASCII (RFC 5890)
                login, at, place = parts.netloc.rpartition("@")
                host, colon, port = place.partition(":")
                written = parts._replace(netloc=f"{login}{at}{host.encode('idna').decode()}{colon}{port}").geturl()
            # Of a template only the path and the query have places to fill.
            return quote(written, safe="%/:=&?~#+!$,;'@()*[]{}|")
    except ValueError:
        pass
    if _DEVIATIONS & set(written):
        raise ValueError("is not an address, or its host has a letter of two forms: write its ASCII form, xn--..")
    raise ValueError("is not an address. Write https://host/path.")


def _headers(written: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in filter(None, written):
        name, colon, value = (part.strip() for part in each.partition(":"))
        if not colon or not _NAME.fullmatch(name):
            raise ValueError('is not a list of headers. Write "name:value", with commas between them.')
        if name.lower() in map(str.lower, found):
            raise ValueError(f"names {name} twice. Write it once.")
        if not value.isprintable() or not value.isascii():
            raise ValueError(f"has a value for {name} that no header can have.")
        found[name] = value
    return found


def _ssl() -> list[Setting[Any]]:
    return [
        getattr(settings, kind)(f"http.{key}", default=None, importance="LOW", group=_TLS, doc=doc)
        for key, kind, doc in _SSL
    ]


class LoginOptions(settings.Options):
    """The login."""

    authorization = settings.String(
        "http.authorization.type",
        default=NONE,
        importance="HIGH",
        group=_LOGIN,
        validator=settings.one_of(NONE, STATIC, API_KEY, BASIC, OAUTH2, ignore_case=True),
        convert=str.lower,
        doc="none; static: http.headers.authorization is the header Authorization; apikey: it is the header X-API-Key; "
        "basic: http.username and http.password; oauth2: a token by client credentials. apikey and basic are added.",
    )
    secret = settings.Password(
        "http.headers.authorization",
        default=None,
        group=_LOGIN,
        doc='The whole value of the header, such as "Bearer ..". With static and apikey.',
    )
    header = settings.String(
        "http.authorization.header",
        default=None,
        importance="LOW",
        group=_LOGIN,
        doc="The name of the header, if it is not Authorization. Added.",
    )
    provider = settings.Class(
        "http.authorization.class",
        default=None,
        importance="LOW",
        group=_LOGIN,
        doc="module:Class, a class whose credentials() returns the value of the header instead, for each request. "
        "Added.",
    )
    username = settings.String("http.username", default=None, group=_LOGIN, doc="The user name, with basic. Added.")
    password = settings.Password("http.password", default=None, group=_LOGIN, doc="The password, with basic. Added.")


class OAuth2Options(settings.Options):
    """A token by client credentials."""

    token_url = settings.String(
        "oauth2.access.token.url", default=None, group=_OAUTH2, convert=web_address, doc="The URL that issues tokens."
    )
    client_id = settings.String("oauth2.client.id", default=None, group=_OAUTH2, doc="The client id.")
    client_secret = settings.Password("oauth2.client.secret", default=None, group=_OAUTH2, doc="Its secret.")
    mode = settings.String(
        "oauth2.client.authorization.mode",
        default="HEADER",
        group=_OAUTH2,
        validator=settings.one_of("HEADER", "URL", ignore_case=True),
        convert=str.upper,
        doc="HEADER: id and secret are sent in the header Authorization. URL: in the form.",
    )
    scope = settings.String("oauth2.client.scope", default=None, importance="LOW", group=_OAUTH2, doc="The scope.")
    grant_type = settings.String(
        "oauth2.grant.type", default="client_credentials", importance="LOW", group=_OAUTH2, doc="The grant type."
    )
    name_of_grant_type = settings.String(
        "oauth2.request.grant.type.property",
        default="grant_type",
        importance="LOW",
        group=_OAUTH2,
        doc="The form's field for the grant type.",
    )
    name_of_client_id = settings.String(
        "oauth2.request.client.id.property",
        default="client_id",
        importance="LOW",
        group=_OAUTH2,
        doc="The form's field for the client id, with URL.",
    )
    name_of_client_secret = settings.String(
        "oauth2.request.client.secret.property",
        default="client_secret",
        importance="LOW",
        group=_OAUTH2,
        doc="The form's field for the secret, with URL.",
    )
    name_of_token = settings.String(
        "oauth2.response.token.property",
        default="access_token",
        importance="LOW",
        group=_OAUTH2,
        doc="The response's field with the token.",
    )


class ServerOptions(LoginOptions, OAuth2Options, more=_ssl()):
    """How a server is asked."""

    content_type = settings.String(
        "http.headers.content.type",
        default=None,
        importance="LOW",
        group=_SERVER,
        validator=settings.non_empty,
        doc="The header Content-Type of requests with a body.",
    )
    headers = settings.List(
        "http.headers.additional",
        default=[],
        importance="LOW",
        group=_SERVER,
        convert=_headers,
        doc="More headers, as name:value with commas between them.",
    )
    timeout = settings.Int(
        "http.timeout",
        default=30,
        importance="LOW",
        group=_SERVER,
        validator=settings.at_least(1),
        doc="How many seconds the server may be silent.",
    )
    connect_timeout = settings.Int(
        "http.connect.timeout.ms",
        default=10_000,
        importance="LOW",
        group=_SERVER,
        validator=settings.at_least(1),
        convert=settings.seconds,
        doc="How long to wait for a connection. Added.",
    )
    per_second = settings.Double(
        "http.requests.per.second",
        default=0.0,
        importance="LOW",
        group=_SERVER,
        validator=settings.at_least(0),
        doc="The most requests of a task to a server in a second; 0: any number. The limits in the server's responses "
        "(Retry-After, X-RateLimit-Remaining and X-RateLimit-Reset) apply too. Added.",
    )
    proxy_host = settings.String(
        "http.proxy.host",
        default=None,
        importance="LOW",
        group=_SERVER,
        doc="An HTTP proxy. By default that of this machine's variables (https_proxy, no_proxy).",
    )
    proxy_port = settings.Int(
        "http.proxy.port",
        default=-1,
        importance="LOW",
        group=_SERVER,
        validator=settings.between(-1, 65535),
        doc="Its port.",
    )
    proxy_username = settings.String(
        "http.proxy.username", default=None, importance="LOW", group=_SERVER, doc="The user name at the proxy. Added."
    )
    proxy_password = settings.Password(
        "http.proxy.password", default=None, importance="LOW", group=_SERVER, doc="The password at the proxy. Added."
    )
    trust_all = settings.Boolean(
        "http.ssl.trust.all.certs",
        default=False,
        importance="LOW",
        group=_TLS,
        doc="Whether any certificate will do, which is not protection. For trying things out.",
    )

    @property
    def tls(self) -> dict[str, str]:
        """Java's ssl.* keys, as `connect.kafka.clients.tls` reads them."""
        found = {key: self.config[f"http.{key}"] for key, *_ in _SSL}
        return {
            key: value.reveal() if isinstance(value, Secret) else str(value)
            for key, value in found.items()
            if value is not None
        }

    @property
    def proxy(self) -> Callable[[str], str | None]:
        """The proxy for a URL."""
        if not self.proxy_host:
            return machine_proxy
        login = ""
        if self.proxy_username:
            password = self.proxy_password.reveal() if self.proxy_password else ""
            login = f"{quote(self.proxy_username, safe='')}:{quote(password, safe='')}@"
        address = f"http://{login}{self.proxy_host}:{self.proxy_port}"
        return lambda _: address

    @classmethod
    def contradictions(cls, parsed: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Keys that contradict each other, with what to do.

        Args:
            parsed: values by key; keys that could not be parsed are missing.
        """
        return _contradictions(parsed)

    def check(self) -> None:
        """Raise ConfigError for the first key that contradicts others."""
        for key, why in self.contradictions(self.config):
            raise ConfigError(key, why)


def _contradictions(parsed: Mapping[str, Any]) -> list[tuple[str, str]]:
    kind = str(parsed.get("http.authorization.type", NONE)).lower()
    wanted: dict[str, tuple[str, ...]] = {
        STATIC: ("http.headers.authorization",),
        API_KEY: ("http.headers.authorization",),
        BASIC: ("http.username", "http.password"),
        OAUTH2: ("oauth2.access.token.url", "oauth2.client.id", "oauth2.client.secret"),
    }
    needed = () if kind in (STATIC, API_KEY) and parsed.get("http.authorization.class") else wanted.get(kind, ())
    found = [
        (key, f"is missing: http.authorization.type={kind} needs it.")
        for key in needed
        if key in parsed and not _written(parsed[key])
    ]
    found += [
        (key, f"is for http.authorization.type={' or '.join(kinds)}: set that, or leave it out.")
        for key, kinds in _FOR.items()
        if kind not in kinds and _written(parsed.get(key))
    ]
    if bool(parsed.get("http.proxy.host")) != (parsed.get("http.proxy.port", -1) > -1):
        found.append(("http.proxy.port", "and http.proxy.host belong together: set both, or neither."))
    return found


def _written(value: Any) -> str:
    return (value.reveal() if isinstance(value, Secret) else str(value or "")).strip()
