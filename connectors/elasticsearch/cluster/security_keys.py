"""The keys of logging in, TLS and proxies."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from connect import settings
from connect.settings import Secret, Setting

_LOGIN: Final = "Login"
_TLS: Final = "TLS"
_PROXY: Final = "Proxy"


class LoginOptions(settings.Options):
    """A user of the cluster."""

    username = settings.String("connection.username", default=None, group=_LOGIN, doc="The user name.")
    password = settings.Password("connection.password", default=None, group=_LOGIN, doc="The password.")


class ApiKeyOptions(settings.Options):
    """Other ways to log in, of Elasticsearch."""

    api_key = settings.Password(
        "connection.api.key",
        default=None,
        group=_LOGIN,
        doc="An API key instead of user and password, encoded (base64 of id:key) as Elasticsearch gives it.",
    )
    kerberos_principal = settings.String(
        "kerberos.user.principal",
        default=None,
        importance="LOW",
        group=_LOGIN,
        doc="Refused: there is no Kerberos here.",
    )
    kerberos_keytab = settings.String(
        "kerberos.keytab.path", default=None, importance="LOW", group=_LOGIN, doc="Refused: there is no Kerberos here."
    )


class AwsOptions(settings.Options):
    """Signatures of requests to Amazon's service, for OpenSearch."""

    aws_region = settings.String(
        "aws.region",
        default=None,
        group=_LOGIN,
        doc="Sign requests for Amazon's service in this region (SigV4). Needs boto3: connect-runtime[s3].",
    )
    aws_access_key_id = settings.String(
        "aws.access_key_id",
        default=None,
        group=_LOGIN,
        doc="The access key. By default the one that boto3 finds on this machine.",
    )
    aws_secret_access_key = settings.Password("aws.secret_access_key", default=None, group=_LOGIN, doc="Its secret.")
    aws_service = settings.String(
        "aws.service.signing.name",
        default=None,
        group=_LOGIN,
        doc="The service of the signatures: es (the default), or aoss, the serverless one.",
    )
    role = settings.String("aws.sts.role.arn", default=None, group=_LOGIN, doc="A role to assume.")
    role_session = settings.String(
        "aws.sts.role.session.name", default=None, group=_LOGIN, doc="The name of the role's session."
    )
    role_seconds = settings.Int(
        "aws.sts.role.session.duration",
        default=3600,
        group=_LOGIN,
        validator=settings.at_least(900),
        doc="How many seconds the session lasts; it is renewed before it ends.",
    )
    role_external_id = settings.String(
        "aws.sts.role.external.id", default=None, group=_LOGIN, doc="The external id that the role requires."
    )


class ProxyOptions(settings.Options):
    """An HTTP proxy."""

    proxy_host = settings.String(
        "proxy.host",
        default="",
        importance="LOW",
        group=_PROXY,
        doc="An HTTP proxy. Empty: none, whatever the environment says.",
    )
    proxy_port = settings.Int(
        "proxy.port",
        default=8080,
        importance="LOW",
        group=_PROXY,
        validator=settings.between(1, 65535),
        doc="Its port.",
    )
    proxy_username = settings.String(
        "proxy.username", default="", importance="LOW", group=_PROXY, doc="The user name at the proxy."
    )
    proxy_password = settings.Password(
        "proxy.password", default=None, importance="LOW", group=_PROXY, doc="The password for it."
    )

    @property
    def proxy(self) -> str | None:
        """Its URL, None where there is none."""
        return f"http://{self.proxy_host}:{self.proxy_port}" if self.proxy_host else None

    @property
    def proxy_user(self) -> tuple[str, str] | None:
        """User and password for it."""
        return login(self.proxy_username, self.proxy_password)


#: Java's keys, as `connect.kafka.clients.tls` reads them: kind of setting, default, doc.
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


def _ssl(prefix: str) -> list[Setting[Any]]:
    def one(key: str, kind: str, default: Any, doc: str) -> Setting[Any]:
        declare = getattr(settings, kind)
        setting: Setting[Any] = declare(f"{prefix}{key}", default=default, importance="LOW", group=_TLS, doc=doc)
        return setting

    return [one(*each) for each in _SSL]


class TlsOptions(settings.Options):
    """TLS by Java's keys.

    Attributes:
        tls_prefix: of their names.
    """

    tls_prefix: ClassVar[str]

    @property
    def tls(self) -> dict[str, str]:
        """Java's ssl.* keys as text, without a prefix."""
        found = {key: self.config[self.tls_prefix + key] for key, *_ in _SSL}
        return {key: _text(value) for key, value in found.items() if value is not None}

    @property
    def verify(self) -> bool:
        """False trusts every certificate."""
        return True


class ElasticsearchTls(TlsOptions, more=_ssl("elastic.https.")):
    """Confluent's names for it."""

    tls_prefix = "elastic.https."

    security_protocol = settings.String(
        "elastic.security.protocol",
        default="PLAINTEXT",
        group=_TLS,
        validator=settings.one_of("PLAINTEXT", "SSL"),
        doc="SSL: only https is spoken. An https URL is TLS either way.",
    )


class _PlainNames(TlsOptions, more=_ssl("")):
    tls_prefix = ""


class OpenSearchTls(
    _PlainNames,
    aliases={f"connection.{key}": key for key in (*(key for key, *_ in _SSL), "trust.all.certificates")},
):
    """Java's own names for it, and Aiven's, which begin with `connection.`."""

    trust_all = settings.Boolean(
        "trust.all.certificates",
        default=False,
        importance="LOW",
        group=_TLS,
        doc="Whether any certificate is trusted, which gives no protection. For tests.",
    )

    @property
    def verify(self) -> bool:
        return not self.trust_all


def login(name: str | None, password: Secret | None) -> tuple[str, str] | None:
    """User and password where there are both."""
    return (name, password.reveal()) if name and password else None


def _text(value: Any) -> str:
    if isinstance(value, Secret):
        return value.reveal()
    return ",".join(value) if isinstance(value, list) else str(value)
