"""The settings of converters with a schema registry, under Confluent's names and with its defaults.

https://docs.confluent.io/platform/current/schema-registry/sr-client-configs.html
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from typing import Any, Final

from connect import settings
from connect.converters.kind import ConverterOptions
from connect.converters.registry.client import RegistryClient
from connect.converters.registry.http import RegistryHttp, split
from connect.converters.registry.subjects import STRATEGIES, TOPIC, Subjects
from connect.converters.registry.wire import DUAL_READER, HEADER_WRITER, PREFIX_READER, PREFIX_WRITER, Wire
from connect.errors import ConfigError
from connect.http import basic
from connect.settings import Importance, Secret, Validator

_NAMESPACE: Final = "schema.registry."
_TLS: Final = _NAMESPACE + "ssl."
_SSL: Final = (
    *(
        settings.Password(f"{_TLS}{name}.password", default=None, doc=f"The password of {what}.")
        for name, what in (("truststore", "the trust store"), ("keystore", "the key store"), ("key", "the private key"))
    ),
    *(
        settings.String(f"{_TLS}{name}", default=None, doc=doc)
        for name, doc in (
            ("truststore.location", "A store with the certificates that are trusted: PEM, PKCS12 or JKS."),
            ("truststore.type", "Its type."),
            ("keystore.location", "A store with this client's own key and certificate: PEM, PKCS12 or JKS."),
            ("keystore.type", "Its type."),
            (
                "endpoint.identification.algorithm",
                "https (the default) or empty, which does not check the host's name.",
            ),
        )
    ),
)
_STRICT: Final = {
    key: settings.WithoutEffect(why, unless=("true",))
    for key, why in (
        ("latest.compatibility.strict", "with use.latest.version a record's value must fit the latest schema"),
        ("id.compatibility.strict", "with use.schema.id a record's value must fit that schema"),
    )
}


def _addresses(name: str, value: Any) -> None:
    for url in value:
        if url:
            split(url)


def _known(names: Sequence[str]) -> Validator:
    """One of these Java classes, with their package or without."""

    def check(name: str, value: Any) -> None:
        if value not in names and value not in [known.rpartition(".")[2] for known in names]:
            raise ValueError(f"{value} is not known here; there are {', '.join(names)}.")

    return check


class RegistryOptions(settings.Options, without_effect=_STRICT, more=_SSL):
    """How a registry is reached, and how schemas are found there and registered."""

    schema_registry_url = settings.List(
        "schema.registry.url",
        doc="Addresses of the schema registry, comma-separated; the converter asks the first that answers, and keeps "
        "asking it.",
        importance=Importance.HIGH,
        validator=_addresses,
    )
    auto_register_schemas = settings.Boolean(
        "auto.register.schemas",
        default=True,
        doc="Whether schemas of records that are written are registered. If not, they must be registered already.",
    )
    use_latest_version = settings.Boolean(
        "use.latest.version",
        default=False,
        doc="Whether records are written with the latest schema of their subject, whatever their own. Only with "
        "auto.register.schemas=false.",
        importance=Importance.LOW,
    )
    normalize_schemas = settings.Boolean(
        "normalize.schemas",
        default=False,
        doc="Whether the registry normalizes schemas before it compares them.",
    )
    use_schema_id = settings.Int(
        "use.schema.id",
        default=-1,
        doc="The id of the schema that all records are written with. Only with auto.register.schemas=false.",
        importance=Importance.LOW,
    )
    schema_format = settings.String(
        "schema.format",
        default=None,
        doc="The form in which the registry returns schemas, if it has several.",
        importance=Importance.LOW,
    )
    max_schemas_per_subject = settings.Int(
        "max.schemas.per.subject",
        default=1000,
        doc="How many schemas the converter remembers, so that it does not ask for them again.",
        importance=Importance.LOW,
    )
    latest_cache_ttl_sec = settings.Long(
        "latest.cache.ttl.sec",
        default=-1,
        doc="After how many seconds the converter asks again for the latest version of a subject; -1 for never.",
        importance=Importance.LOW,
    )
    key_subject_name_strategy = settings.String(
        "key.subject.name.strategy",
        default=TOPIC,
        validator=_known(STRATEGIES),
        doc="How subjects of keys are named: TopicNameStrategy, RecordNameStrategy or TopicRecordNameStrategy.",
        importance=Importance.LOW,
    )
    value_subject_name_strategy = settings.String(
        "value.subject.name.strategy",
        default=TOPIC,
        validator=_known(STRATEGIES),
        doc="How subjects of values are named: TopicNameStrategy, RecordNameStrategy or TopicRecordNameStrategy.",
        importance=Importance.LOW,
    )
    key_schema_id_serializer = settings.String(
        "key.schema.id.serializer",
        default=PREFIX_WRITER,
        validator=_known((PREFIX_WRITER, HEADER_WRITER)),
        doc="Whether a key's schema is named in its first bytes or in a header.",
        importance=Importance.LOW,
    )
    value_schema_id_serializer = settings.String(
        "value.schema.id.serializer",
        default=PREFIX_WRITER,
        validator=_known((PREFIX_WRITER, HEADER_WRITER)),
        doc="Whether a value's schema is named in its first bytes or in a header.",
        importance=Importance.LOW,
    )
    key_schema_id_deserializer = settings.String(
        "key.schema.id.deserializer",
        default=DUAL_READER,
        validator=_known((DUAL_READER, PREFIX_READER)),
        doc="Where the converter looks for a key's schema: in a header and the first bytes, or only in the first "
        "bytes.",
        importance=Importance.LOW,
    )
    value_schema_id_deserializer = settings.String(
        "value.schema.id.deserializer",
        default=DUAL_READER,
        validator=_known((DUAL_READER, PREFIX_READER)),
        doc="Where the converter looks for a value's schema: in a header and the first bytes, or only in the first "
        "bytes.",
        importance=Importance.LOW,
    )
    basic_auth_credentials_source = settings.String(
        "basic.auth.credentials.source",
        default="URL",
        validator=settings.one_of("URL", "USER_INFO", "SASL_INHERIT", ignore_case=True),
        convert=str.upper,
        doc="Where user and password are: URL, USER_INFO (basic.auth.user.info) or SASL_INHERIT (sasl.jaas.config).",
    )
    basic_auth_user_info = settings.Password(
        "basic.auth.user.info", default="", convert=Secret.reveal, doc="<user>:<password>, with USER_INFO."
    )
    schema_registry_basic_auth_user_info = settings.Password(
        _NAMESPACE + "basic.auth.user.info", default="", convert=Secret.reveal, doc="The same as basic.auth.user.info."
    )
    bearer_auth_credentials_source = settings.String(
        "bearer.auth.credentials.source",
        default=None,
        validator=settings.one_of("STATIC_TOKEN"),
        doc="STATIC_TOKEN: the token in bearer.auth.token.",
    )
    bearer_auth_token = settings.Password(
        "bearer.auth.token", default="", convert=Secret.reveal, doc="The bearer token."
    )
    bearer_auth_logical_cluster = settings.String(
        "bearer.auth.logical.cluster", default=None, doc="Confluent Cloud's name for the registry."
    )
    bearer_auth_identity_pool_id = settings.String(
        "bearer.auth.identity.pool.id", default=None, doc="Confluent Cloud's name for the identity pool."
    )
    proxy_host = settings.String(
        "proxy.host",
        default="",
        doc="The HTTP proxy to the registry; by default this machine's variables https_proxy and no_proxy decide.",
        importance=Importance.LOW,
    )
    proxy_port = settings.Int("proxy.port", default=-1, doc="The proxy's port.", importance=Importance.LOW)
    http_connect_timeout = settings.Int(
        "http.connect.timeout.ms",
        default=60_000,
        convert=settings.seconds,
        doc="How long to wait for an answer, if it is more than http.read.timeout.ms.",
        importance=Importance.LOW,
    )
    http_read_timeout = settings.Int(
        "http.read.timeout.ms",
        default=60_000,
        convert=settings.seconds,
        doc="How long to wait for an answer.",
        importance=Importance.LOW,
    )
    max_retries = settings.Int(
        "max.retries",
        default=3,
        doc="How often the converter asks all addresses again when none answers, before errors.retry.* applies.",
        importance=Importance.LOW,
    )
    retries_wait = settings.Int(
        "retries.wait.ms",
        default=1000,
        convert=settings.seconds,
        doc="The pause before the first of these.",
        importance=Importance.LOW,
    )
    retries_max_wait = settings.Int(
        "retries.max.wait.ms",
        default=20_000,
        convert=settings.seconds,
        doc="The longest pause between them.",
        importance=Importance.LOW,
    )

    def client(self) -> RegistryClient:
        """The client with these settings. Sends nothing to the registry yet.

        Raises:
            ConfigError: they contradict each other, or a key or trust store cannot be read.
        """
        http = RegistryHttp(
            [url for url in self.schema_registry_url if url],
            headers=self._login(),
            tls=self._tls(),
            proxy=self._proxy(),
            timeout=max(self.http_connect_timeout, self.http_read_timeout),
            retries=self.max_retries,
            first_wait=self.retries_wait,
            longest_wait=self.retries_max_wait,
        )
        return RegistryClient(
            http,
            size=self.max_schemas_per_subject,
            latest_for=self.latest_cache_ttl_sec,
            schema_format=self.schema_format,
        )

    def _login(self) -> dict[str, str]:
        """The headers of the login."""
        bearer = self.bearer_auth_token
        if bearer or self.bearer_auth_credentials_source:
            if not bearer:
                raise ConfigError("bearer.auth.token", "is missing. bearer.auth.credentials.source asks for it.")
            named = {
                "target-sr-cluster": self.bearer_auth_logical_cluster,
                "Confluent-Identity-Pool-Id": self.bearer_auth_identity_pool_id,
            }
            return {"Authorization": f"Bearer {bearer}", **{name: value for name, value in named.items() if value}}
        if self.basic_auth_credentials_source == "USER_INFO":
            user_info = self.schema_registry_basic_auth_user_info or self.basic_auth_user_info
            if ":" not in user_info:
                raise ConfigError("basic.auth.user.info", "is missing or has no colon. Write <user>:<password>.")
            return {"Authorization": basic(user_info)}
        if self.basic_auth_credentials_source == "SASL_INHERIT":
            from connect.kafka.clients.settings import client_login

            return {"Authorization": basic(":".join(client_login(self._written())))}
        return {}  # what stands in the address

    def _tls(self) -> ssl.SSLContext | None:
        """The TLS context of `schema.registry.ssl.*`; by default it trusts what this machine trusts."""
        if not any(url.startswith("https:") for url in self.schema_registry_url):
            return None
        # Not before it is needed: it knows the formats of Java's stores.
        from connect.kafka.clients.tls import client_tls_context

        own = {key.removeprefix(_NAMESPACE): value for key, value in self._written().items() if key.startswith(_TLS)}
        try:
            return client_tls_context(own)
        except ConfigError as error:
            raise ConfigError(_NAMESPACE + error.key, error.message) from error

    def _proxy(self) -> str | None:
        if not self.proxy_host:
            return None
        if self.proxy_port < 0:
            raise ConfigError("proxy.port", "is missing. proxy.host asks for it.")
        return f"http://{self.proxy_host}:{self.proxy_port}"

    def _written(self) -> Mapping[str, str]:
        return {key: str(value) for key, value in self.config.raw.items() if value is not None}


class RegistryConverterOptions(RegistryOptions, ConverterOptions):
    """The common options of all converters with a registry."""

    schemas_cache_config = settings.Int(
        "schemas.cache.config",
        default=1000,
        doc="How many schemas are remembered with their readers and writers.",
        importance=Importance.LOW,
    )

    def subjects(self, *, is_key: bool) -> Subjects:
        """Under which subjects schemas are registered."""
        return Subjects(self.key_subject_name_strategy if is_key else self.value_subject_name_strategy, is_key=is_key)

    def wire(self, *, is_key: bool) -> Wire:
        """How records name their schemas."""
        if is_key:
            return Wire(self.key_schema_id_serializer, self.key_schema_id_deserializer, is_key=True)
        return Wire(self.value_schema_id_serializer, self.value_schema_id_deserializer, is_key=False)
