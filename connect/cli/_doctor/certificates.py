"""Certificates of key and trust stores: their expiry, and whether the key belongs to its certificate."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from connect.cli._doctor.finding import Finding, Level, error, note, of_message, ok, warning
from connect.cli._doctor.subject import Subject
from connect.cli._exit import INVALID
from connect.cli._table import counted
from connect.kafka.clients.java_rules import ClientSettingError
from connect.kafka.clients.stores import is_pem, read_store
from connect.kafka.clients.tls import client_tls_context, server_tls_context
from connect.peers.tls import LISTENERS, tls_settings
from connect.settings.raw import comma_separated, prefixed
from connect.settings.regular_files import MOST_OF_A_STORE, UnfitFileError, read_regular

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

#: So long before its end a certificate is worth a warning.
SOON: Final = dt.timedelta(days=30)

_ADMIN: Final = "admin.listeners.https."
_CLIENTS: Final = ("", "producer.", "consumer.", "admin.")
_OVERRIDES: Final = ("producer.override.", "consumer.override.", "admin.override.")
_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"


def check(subject: Subject) -> Iterator[Finding]:
    """The stores of the worker's clients, of its https listeners, and of connectors' own clients."""
    seen: set[tuple[object, ...]] = set()
    for prefix, java, server in _stores(subject):
        mark = (server, *sorted((key, value) for key, value in java.items() if key.startswith("ssl.")))
        if mark not in seen:
            seen.add(mark)
            yield from _of_one(subject, prefix, java, server=server)


def _stores(subject: Subject) -> Iterator[tuple[str, dict[str, str], bool]]:
    """The prefix of the keys, the ssl.* settings, and whether they are a listener's."""
    raw = subject.raw
    for prefix in _CLIENTS:
        if any(key.startswith(f"{prefix}ssl.") for key in raw):
            yield prefix, prefixed(raw, prefix), False
    for name, config in subject.configs.items():
        for prefix in _OVERRIDES:
            if any(key.startswith(f"{prefix}ssl.") for key in config):
                yield f"{name}: {prefix}", prefixed(config, prefix), False
    for key, prefix in (("listeners", LISTENERS), ("admin.listeners", _ADMIN)):
        if any(url.lower().startswith("https:") for url in comma_separated(raw.get(key))):
            settings, shown = tls_settings(raw, prefix)
            yield shown, settings, True


def _of_one(subject: Subject, prefix: str, java: Mapping[str, str], *, server: bool) -> Iterator[Finding]:
    try:
        # OpenSSL itself says whether it can read them, and whether key and certificate belong together.
        server_tls_context(java) if server else client_tls_context(java)
    except ClientSettingError as problem:
        advice = "Name a file that holds the certificate and the key that belongs to it."
        key = f"{prefix}{problem.key}"
        message = f'key "{key}": {_plain(problem.message)}'
        yield of_message(Level.ERROR, subject.where(key), message, advice, INVALID)
    for which in ("keystore", "truststore"):
        yield from _certificates(prefix, java, which)


def _plain(message: str) -> str:
    if "mismatch" in message.lower():
        return "the private key does not belong to the certificate. Put both of one pair into it."
    return message


def _certificates(prefix: str, java: Mapping[str, str], which: Literal["keystore", "truststore"]) -> Iterator[Finding]:
    what, text = _pem(java, which)
    if not text:
        return
    if find_spec("cryptography") is None:
        yield note(f"{prefix}{what}", "until when it is valid is not seen.", "Run: pip install cryptography")
        return
    found = list(_parsed(text))
    if which == "truststore":
        yield _of_authorities(f"{prefix}{what}", found)
        return
    for certificate in found:
        yield validity(f"{prefix}{what}", certificate, certificate.not_valid_after_utc)


def _pem(java: Mapping[str, str], which: Literal["keystore", "truststore"]) -> tuple[str, str]:
    """The key that names a store, or has its content, and its certificates as PEM; none where it cannot be read."""
    inline = "ssl.keystore.certificate.chain" if which == "keystore" else "ssl.truststore.certificates"
    location = f"ssl.{which}.location"
    if java.get(inline):
        return inline, java[inline]
    if not java.get(location):
        return location, ""
    try:
        if is_pem(java, which):
            return location, read_regular(Path(java[location]), MOST_OF_A_STORE).decode("ascii", "replace")
        store = read_store(java, which)
    except (ClientSettingError, UnfitFileError, OSError):
        return location, ""  # which is said above
    return location, store.chain if which == "keystore" else store.trusted


def _parsed(text: str) -> Iterator[Certificate]:
    from cryptography import x509

    for part in text.split(_BEGIN)[1:]:
        body, end, _ = part.partition(_END)
        if not end:
            continue
        try:
            yield x509.load_pem_x509_certificate(f"{_BEGIN}{body}{end}".encode())
        except ValueError:
            continue  # old ones break rules that came after them; OpenSSL has said what it thinks of them


def validity(what: str, certificate: Certificate | str, end: dt.datetime) -> Finding:
    """Whether a certificate is valid now, and will be for a month.

    Args:
        certificate: its name or owner.
        end: its expiry, in UTC.
    """
    now = dt.datetime.now(dt.UTC)
    whose = certificate if isinstance(certificate, str) else certificate.subject.rfc4514_string()
    last = f"{end:%Y-%m-%d %H:%M} UTC"
    if not isinstance(certificate, str) and certificate.not_valid_before_utc > now:
        first = f"{certificate.not_valid_before_utc:%Y-%m-%d %H:%M} UTC"
        advice = "Check this machine's clock, or take another certificate."
        return error(what, f"the certificate of {whose} is not valid before {first}.", advice, INVALID)
    if end <= now:
        return error(what, f"the certificate of {whose} expired at {last}.", "Replace it with a new one.", INVALID)
    if end - now < SOON:
        days = (end - now).days
        return warning(
            what, f"the certificate of {whose} expires in {counted(days, 'day')}, at {last}.", "Renew it before that."
        )
    return ok(what, f"the certificate of {whose} is valid until {last}.")


def _of_authorities(what: str, found: list[Certificate]) -> Finding:
    """Of a trust store: bundles keep expired authorities, so one that is valid is enough."""
    now = dt.datetime.now(dt.UTC)
    if not found:
        return error(what, "it holds no certificate: nobody is trusted.", "Put the authority's into it.", INVALID)
    last = max(found, key=lambda each: each.not_valid_after_utc)
    over = sum(each.not_valid_after_utc <= now for each in found)
    if over == len(found) or len(found) == 1:
        return validity(what, last, last.not_valid_after_utc)
    said = f"{len(found)} authorities are trusted"
    if over:
        return note(what, f"{said}, and the certificates of {over} are over.", "Replace those that are still needed.")
    return validity(
        what, min(found, key=lambda each: each.not_valid_after_utc), min(each.not_valid_after_utc for each in found)
    )
