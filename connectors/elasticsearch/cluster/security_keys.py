"""The keys of logging in, TLS and proxies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from connect import settings
from connect.settings import Definition, Secret, Setting

_LOGIN: Final = "Login"
_TLS: Final = "TLS"
_PROXY: Final = "Proxy"

USER: Final = settings.define(
    settings.String("connection.username", default=None, group=_LOGIN, doc="Who we are there."),
    settings.Password("connection.password", default=None, group=_LOGIN, doc="The password."),
)
API_KEY: Final = settings.define(
    settings.Password(
        "connection.api.key",
        default=None,
        group=_LOGIN,
        doc="An API key instead of user and password, encoded (base64 of id:key) as Elasticsearch gives it.",
    ),
    settings.String(
        "kerberos.user.principal",
        default=None,
        importance="LOW",
        group=_LOGIN,
        doc="Refused: there is no Kerberos here.",
    ),
    settings.String(
        "kerberos.keytab.path", default=None, importance="LOW", group=_LOGIN, doc="Refused: there is no Kerberos here."
    ),
)
AWS: Final = settings.define(
    settings.String(
        "aws.region",
        default=None,
        group=_LOGIN,
        doc="Sign requests for Amazon's service in this region (SigV4). Needs boto3: connect-runtime[s3].",
    ),
    settings.String(
        "aws.access_key_id", default=None, group=_LOGIN, doc="The key; what boto3 finds on this machine by default."
    ),
    settings.Password("aws.secret_access_key", default=None, group=_LOGIN, doc="Its secret."),
    settings.String(
        "aws.service.signing.name",
        default=None,
        group=_LOGIN,
        doc="Which service signatures are for: es (the default), or aoss, the serverless one.",
    ),
    settings.String("aws.sts.role.arn", default=None, group=_LOGIN, doc="A role to take on."),
    settings.String("aws.sts.role.session.name", default=None, group=_LOGIN, doc="What its session is called."),
    settings.Int(
        "aws.sts.role.session.duration",
        default=3600,
        group=_LOGIN,
        validator=settings.at_least(900),
        doc="How many seconds it holds; it is renewed before it ends.",
    ),
    settings.String(
        "aws.sts.role.external.id", default=None, group=_LOGIN, doc="The external id that the role asks for."
    ),
)
PROXY: Final = settings.define(
    settings.String(
        "proxy.host",
        default="",
        importance="LOW",
        group=_PROXY,
        doc="An HTTP proxy to go through. Nothing: none, whatever the environment says.",
    ),
    settings.Int(
        "proxy.port",
        default=8080,
        importance="LOW",
        group=_PROXY,
        validator=settings.between(1, 65535),
        doc="Its port.",
    ),
    settings.String("proxy.username", default="", importance="LOW", group=_PROXY, doc="Who we are for the proxy."),
    settings.Password("proxy.password", default=None, importance="LOW", group=_PROXY, doc="The password for it."),
)

#: Java's keys, as `connect.kafka.tls` reads them: kind of setting, default, doc.
_SSL: Final[tuple[tuple[str, str, Any, str], ...]] = (
    (
        "ssl.truststore.location",
        "String",
        None,
        "A file with the certificates that are trusted; this machine's if none.",
    ),
    ("ssl.truststore.password", "Password", None, "Its password."),
    ("ssl.truststore.type", "String", "JKS", "PEM, PKCS12 or JKS. The last two are told apart by their content."),
    ("ssl.truststore.certificates", "Password", None, "The certificates themselves, as PEM, instead of a file."),
    ("ssl.keystore.location", "String", None, "A file with our own certificate and its key, for mutual TLS."),
    ("ssl.keystore.password", "Password", None, "Its password."),
    ("ssl.keystore.type", "String", "JKS", "PEM, PKCS12 or JKS."),
    ("ssl.key.password", "Password", None, "The key's password, where it has one of its own."),
    ("ssl.keystore.certificate.chain", "Password", None, "Our certificate itself, as PEM, instead of a file."),
    ("ssl.keystore.key", "Password", None, "Its key, as PEM."),
    ("ssl.enabled.protocols", "List", ["TLSv1.2", "TLSv1.3"], "The versions of TLS that may be spoken."),
    ("ssl.cipher.suites", "List", None, "Ciphers, by OpenSSL's names; its own choice if none."),
    (
        "ssl.endpoint.identification.algorithm",
        "String",
        "https",
        "https: a certificate must name the node's host. Empty: it need not.",
    ),
    ("ssl.protocol", "String", "TLSv1.3", "Understood; ssl.enabled.protocols counts."),
)
_PREFIX: Final = "elastic.https."


def _tls(prefix: str) -> Definition:
    def one(key: str, kind: str, default: Any, doc: str) -> Setting[Any]:
        declare = getattr(settings, kind)
        setting: Setting[Any] = declare(f"{prefix}{key}", default=default, importance="LOW", group=_TLS, doc=doc)
        return setting

    return settings.define(*(one(*each) for each in _SSL))


ELASTIC_TLS: Final = settings.define(
    settings.String(
        "elastic.security.protocol",
        default="PLAINTEXT",
        group=_TLS,
        validator=settings.one_of("PLAINTEXT", "SSL"),
        doc="SSL: only https is spoken. An https URL is TLS either way.",
    )
) | _tls(_PREFIX)
OPENSEARCH_TLS: Final = _tls("") | settings.define(
    settings.Boolean(
        "trust.all.certificates",
        default=False,
        importance="LOW",
        group=_TLS,
        doc="Whether any certificate will do, which is no protection. For trying things out.",
    )
)


def tls_of(parsed: Mapping[str, Any]) -> tuple[dict[str, str], bool]:
    """Java's ssl.* keys as text, and whether certificates are checked."""
    prefix = "" if "ssl.protocol" in parsed else _PREFIX
    found = {}
    for key, *_ in _SSL:
        value = parsed[prefix + key]
        if value is not None:
            found[key] = (
                value.reveal()
                if isinstance(value, Secret)
                else ",".join(value)
                if isinstance(value, list)
                else str(value)
            )
    return found, not parsed.get("trust.all.certificates", False)


@dataclass(frozen=True)
class Aws:
    """What signs requests to Amazon's service."""

    region: str
    service: str
    access_key: str | None
    secret: str | None = field(repr=False)
    role: str | None
    session: str
    duration: int
    external_id: str | None = field(repr=False)

    @classmethod
    def of(cls, parsed: Mapping[str, Any]) -> Aws | None:
        """None where nothing is to be signed."""
        if not parsed["aws.region"]:
            return None
        secret = parsed["aws.secret_access_key"]
        return cls(
            region=parsed["aws.region"],
            service=parsed["aws.service.signing.name"] or "es",
            access_key=parsed["aws.access_key_id"],
            secret=secret.reveal() if secret else None,
            role=parsed["aws.sts.role.arn"],
            session=parsed["aws.sts.role.session.name"] or "connect",
            duration=parsed["aws.sts.role.session.duration"],
            external_id=parsed["aws.sts.role.external.id"],
        )
