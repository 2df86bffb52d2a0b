"""TLS for listeners, and who a client's certificate names: its subject, as Kafka's brokers read it, or another name.

The settings are Java's: listeners.https.ssl.*, else the worker's ssl.*; PEM, PKCS#12 and JKS stores.
https://kafka.apache.org/documentation/#connectconfigs_listeners (KIP-208)

A subject is written by RFC 2253, the last part first: CN=ops,OU=Data,O=Example,C=DE. Rules make a shorter name of it:

    RULE:^CN=([^,]+),.*$/$1/L,DEFAULT

The first rule whose pattern fits the whole subject counts; L and U at its end make small and capital letters. DEFAULT
takes the subject as it is. https://kafka.apache.org/documentation/#security_authz_ssl (KIP-371)

uvicorn itself does not hand a client's certificate to the application: `with_certificates` does.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.types import ASGIApp, Receive, Scope, Send

from connect.errors import ConfigError
from connect.kafka.clients.settings import ClientSettingError
from connect.kafka.clients.tls import server_tls_context
from connect.peers.tls import RenewedContext, tls_settings


def listener_context(raw: Mapping[str, str], prefix: str) -> ssl.SSLContext:
    """The TLS context of the https listeners.

    Args:
        raw: the worker's properties.
        prefix: "listeners.https." or "admin.listeners.https.". If a key begins with it, only such keys count.

    Raises:
        ConfigError: there is no certificate, or it cannot be read.
    """
    settings, shown = tls_settings(raw, prefix)
    try:
        return server_tls_context({**settings, "ssl.client.auth": client_auth(raw, prefix)})
    except ClientSettingError as error:
        raise ConfigError(shown + error.key, error.message) from error


def renewed_listener_context(raw: Mapping[str, str], prefix: str) -> RenewedContext:
    """The same, also of stores that change. Raises ConfigError."""
    settings, _ = tls_settings(raw, prefix)
    return RenewedContext(lambda: listener_context(raw, prefix), settings)


def client_auth(raw: Mapping[str, str], prefix: str) -> str:
    """Whether clients need a certificate: none, requested or required.

    ssl.client.authentication is how Confluent's servers spell the key.
    """
    settings, _ = tls_settings(raw, prefix)
    wanted = settings.get("ssl.client.auth") or settings.get("ssl.client.authentication") or "none"
    return wanted.strip().lower()


#: What `ssl.SSLObject.getpeercert` gives.
Certificate = Mapping[str, Any]

_SHORT: Final = {
    "commonName": "CN",
    "countryName": "C",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "streetAddress": "STREET",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "domainComponent": "DC",
    "userId": "UID",
    "emailAddress": "EMAILADDRESS",
}
_ALTERNATIVES: Final = {"dns": "DNS", "email": "email", "uri": "URI"}
_RULE: Final = re.compile(r"\s*(?:(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?))\s*(?:,|$)")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; without a pattern, DEFAULT."""

    pattern: re.Pattern[str] | None = None
    replacement: str = ""
    case: str = ""

    def apply(self, subject: str) -> str | None:
        """The name, None when it does not fit."""
        if self.pattern is None:
            return subject
        match = self.pattern.fullmatch(subject)
        if match is None:
            return None
        name = re.sub(r"\$(\d)", lambda group: match[int(group[1])] or "", self.replacement)
        return {"L": name.lower(), "U": name.upper()}.get(self.case, name)


def parse_rules(text: str) -> list[Rule]:
    """Rules as they are written. Raises ValueError."""
    rules, at = [], 0
    while at < len(text):
        match = _RULE.match(text, at)
        if match is None:
            raise ValueError(f'"{text[at:]}" is not a rule. Write one like RULE:^CN=([^,]+),.*$/$1/L, or DEFAULT.')
        default, pattern, replacement, case = match.groups()
        if default:
            rules.append(Rule())
        else:
            try:
                compiled = re.compile(pattern.replace("\\/", "/"))
            except re.error as error:
                raise ValueError(f'"{pattern}" is not a pattern: {error}.') from error
            if any(int(group) > compiled.groups for group in re.findall(r"\$(\d)", replacement)):
                raise ValueError(f'"{replacement}" names a group that "{pattern}" does not have.')
            rules.append(Rule(compiled, replacement.replace("\\/", "/"), case))
        at = match.end()
    if not rules:
        raise ValueError("is empty. Write DEFAULT for the whole subject.")
    return rules


@dataclass(frozen=True)
class CertificateNames:
    """Names the owners of certificates.

    Args:
        source: "subject", or the kind of alternative name: "dns", "email", "uri". The first of that kind counts.
        rules: for the subject.
    """

    source: str
    rules: Sequence[Rule]

    def name(self, certificate: Certificate) -> str | None:
        """The owner's name, None when the certificate has none, or no rule fits."""
        if self.source != "subject":
            wanted = _ALTERNATIVES[self.source]
            alternatives = certificate.get("subjectAltName", ())
            return next((value for kind, value in alternatives if kind == wanted), None) or None
        written = subject(certificate)
        if not written:
            return None
        return next((name for rule in self.rules if (name := rule.apply(written)) is not None), None) or None


def subject(certificate: Certificate) -> str:
    """The subject by RFC 2253."""
    parts = [
        "+".join(f"{_SHORT.get(key, key)}={_escaped(value)}" for key, value in part) for part in _parts(certificate)
    ]
    return ",".join(parts)


def _parts(certificate: Certificate) -> list[tuple[tuple[str, str], ...]]:
    return list(reversed(certificate.get("subject", ())))


def _escaped(value: str) -> str:
    text = re.sub(r'([,+"\\<>;])', r"\\\1", value)
    if text.startswith((" ", "#")):
        text = "\\" + text
    if len(value) > 1 and value.endswith(" "):
        text = text[:-1] + "\\ "
    return text


#: In the scope of a request: what `ssl.SSLObject.getpeercert` gives, where the client showed a certificate that the
#: listener's trust store vouches for. No header can set it.
CERTIFICATE: Final = "connect.certificate"


def with_certificates(protocol: type[asyncio.Protocol]) -> type[asyncio.Protocol]:
    """One of uvicorn's HTTP protocols, extended. Each of its instances serves one connection with its `app`."""

    class WithCertificate(protocol):  # type: ignore[misc, valid-type]  # which class it is depends on what is installed
        app: ASGIApp

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            tls = transport.get_extra_info("ssl_object")
            certificate = tls.getpeercert() if isinstance(tls, ssl.SSLObject) else None
            if certificate:
                self.app = _Known(self.app, certificate)

    return WithCertificate


class _Known:
    def __init__(self, app: ASGIApp, certificate: Any) -> None:
        self._app = app
        self._certificate = certificate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app({**scope, CERTIFICATE: self._certificate}, receive, send)
