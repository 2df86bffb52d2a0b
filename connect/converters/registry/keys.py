"""The settings of converters with a schema registry, under Confluent's names and with its defaults.

https://docs.confluent.io/platform/current/schema-registry/sr-client-configs.html
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from typing import Any, Final

from connect import settings
from connect.converters.registry.client import RegistryClient
from connect.converters.registry.http import RegistryHttp, split
from connect.converters.registry.subjects import STRATEGIES, TOPIC
from connect.converters.registry.wire import DUAL_READER, HEADER_WRITER, PREFIX_READER, PREFIX_WRITER
from connect.errors import ConfigError
from connect.http import basic
from connect.settings import Config, Definition, Importance, Secret, Setting
from connect.settings.setting import Validator

_NAMESPACE: Final = "schema.registry."
_TLS: Final = _NAMESPACE + "ssl."
_STRICT: Final = {
    "latest.compatibility.strict": "with use.latest.version a record's value must fit the latest schema",
    "id.compatibility.strict": "with use.schema.id a record's value must fit that schema",
}


def registry_settings(*own: Setting[Any]) -> Definition:
    """The settings of a converter: its own after those that all have in common."""
    strict = {key: settings.WithoutEffect(why, unless=("true",)) for key, why in _STRICT.items()}
    return settings.define(*_COMMON, *own, without_effect=strict)


def registry_client(config: Config) -> RegistryClient:
    """The client that these settings describe. Asks nothing of the registry yet.

    Args:
        config: of `registry_settings`. Its `raw` has the keys that no form shows, such as `schema.registry.ssl.*`.

    Raises:
        ConfigError: they contradict each other, or a key or trust store cannot be read.
    """
    http = RegistryHttp(
        [url for url in config["schema.registry.url"] if url],
        headers=_login(config),
        tls=_tls(config),
        proxy=_proxy(config),
        timeout=max(config["http.connect.timeout.ms"], config["http.read.timeout.ms"]) / 1000,
        retries=config["max.retries"],
        first_wait=config["retries.wait.ms"] / 1000,
        longest_wait=config["retries.max.wait.ms"] / 1000,
    )
    return RegistryClient(
        http,
        size=config["max.schemas.per.subject"],
        latest_for=config["latest.cache.ttl.sec"],
        schema_format=config["schema.format"],
    )


def _login(config: Config) -> dict[str, str]:
    """The headers that say who asks."""
    bearer, source = _text(config, "bearer.auth.token"), config["bearer.auth.credentials.source"]
    if bearer or source:
        if not bearer:
            raise ConfigError("bearer.auth.token", "is missing. bearer.auth.credentials.source asks for it.")
        named = {
            "target-sr-cluster": config["bearer.auth.logical.cluster"],
            "Confluent-Identity-Pool-Id": config["bearer.auth.identity.pool.id"],
        }
        return {"Authorization": f"Bearer {bearer}", **{name: value for name, value in named.items() if value}}
    source = config["basic.auth.credentials.source"].upper()
    if source == "USER_INFO":
        user_info = _text(config, _NAMESPACE + "basic.auth.user.info") or _text(config, "basic.auth.user.info")
        if ":" not in user_info:
            raise ConfigError("basic.auth.user.info", "is missing or has no colon. Write <user>:<password>.")
        return {"Authorization": basic(user_info)}
    if source == "SASL_INHERIT":
        from connect.kafka.client_settings import client_login

        return {"Authorization": basic(":".join(client_login(_raw(config))))}
    return {}  # what stands in the address


def _text(config: Config, key: str) -> str:
    value = config[key]
    return value.reveal() if isinstance(value, Secret) else ""


def _tls(config: Config) -> ssl.SSLContext | None:
    """The context for https: as `schema.registry.ssl.*` says; without such settings who this machine trusts."""
    if not any(url.startswith("https:") for url in config["schema.registry.url"]):
        return None
    # Not before it is needed: it knows the formats of Java's stores.
    from connect.kafka.tls import client_tls_context

    own = {key.removeprefix(_NAMESPACE): value for key, value in _raw(config).items() if key.startswith(_TLS)}
    try:
        return client_tls_context(own)
    except ConfigError as error:
        raise ConfigError(_NAMESPACE + error.key, error.message) from error


def _proxy(config: Config) -> str | None:
    host, port = config["proxy.host"], config["proxy.port"]
    if not host:
        return None
    if port < 0:
        raise ConfigError("proxy.port", "is missing. proxy.host asks for it.")
    return f"http://{host}:{port}"


def _raw(config: Config) -> Mapping[str, str]:
    return {key: str(value) for key, value in config.raw.items() if value is not None}


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


_COMMON: Final = (
    settings.List(
        "schema.registry.url",
        doc="Addresses of the schema registry, comma-separated; the first that answers is asked.",
        importance=Importance.HIGH,
        validator=_addresses,
    ),
    settings.Boolean(
        "auto.register.schemas",
        default=True,
        doc="Whether schemas of records that are written are registered. If not, they must be there already.",
    ),
    settings.Boolean(
        "use.latest.version",
        default=False,
        doc="Whether records are written with the latest schema of their subject, whatever their own. Only with "
        "auto.register.schemas=false.",
        importance=Importance.LOW,
    ),
    settings.Boolean(
        "normalize.schemas",
        default=False,
        doc="Whether the registry is asked to bring schemas into a normal form before it compares them.",
    ),
    settings.Int(
        "use.schema.id",
        default=-1,
        doc="The id of the schema that all records are written with. Only with auto.register.schemas=false.",
        importance=Importance.LOW,
    ),
    settings.String(
        "schema.format",
        default=None,
        doc="The form in which the registry gives out schemas, where it has several.",
        importance=Importance.LOW,
    ),
    settings.Int(
        "max.schemas.per.subject",
        default=1000,
        doc="How many schemas are remembered, so that they are not asked for again.",
        importance=Importance.LOW,
    ),
    settings.Long(
        "latest.cache.ttl.sec",
        default=-1,
        doc="After how many seconds the latest version of a subject is asked for again; -1 for never.",
        importance=Importance.LOW,
    ),
    settings.String(
        "key.subject.name.strategy",
        default=TOPIC,
        validator=_known(STRATEGIES),
        doc="By what subjects of keys are named.",
        importance=Importance.LOW,
    ),
    settings.String(
        "value.subject.name.strategy",
        default=TOPIC,
        validator=_known(STRATEGIES),
        doc="By what subjects of values are named.",
        importance=Importance.LOW,
    ),
    settings.String(
        "key.schema.id.serializer",
        default=PREFIX_WRITER,
        validator=_known((PREFIX_WRITER, HEADER_WRITER)),
        doc="Whether a key's schema is named in its first bytes or in a header.",
        importance=Importance.LOW,
    ),
    settings.String(
        "value.schema.id.serializer",
        default=PREFIX_WRITER,
        validator=_known((PREFIX_WRITER, HEADER_WRITER)),
        doc="Whether a value's schema is named in its first bytes or in a header.",
        importance=Importance.LOW,
    ),
    settings.String(
        "key.schema.id.deserializer",
        default=DUAL_READER,
        validator=_known((DUAL_READER, PREFIX_READER)),
        doc="Where a key's schema is looked for: in a header and the first bytes, or only there.",
        importance=Importance.LOW,
    ),
    settings.String(
        "value.schema.id.deserializer",
        default=DUAL_READER,
        validator=_known((DUAL_READER, PREFIX_READER)),
        doc="Where a value's schema is looked for: in a header and the first bytes, or only there.",
        importance=Importance.LOW,
    ),
    settings.String(
        "basic.auth.credentials.source",
        default="URL",
        validator=settings.one_of("URL", "USER_INFO", "SASL_INHERIT", ignore_case=True),
        doc="Where user and password are: URL, USER_INFO (basic.auth.user.info) or SASL_INHERIT (sasl.jaas.config).",
    ),
    settings.Password("basic.auth.user.info", default="", doc="<user>:<password>, with USER_INFO."),
    settings.Password(_NAMESPACE + "basic.auth.user.info", default="", doc="The same as basic.auth.user.info."),
    settings.String(
        "bearer.auth.credentials.source",
        default=None,
        validator=settings.one_of("STATIC_TOKEN"),
        doc="STATIC_TOKEN: the token in bearer.auth.token.",
    ),
    settings.Password("bearer.auth.token", default="", doc="The token to show."),
    settings.String("bearer.auth.logical.cluster", default=None, doc="Confluent Cloud's name for the registry."),
    settings.String("bearer.auth.identity.pool.id", default=None, doc="Confluent Cloud's name for the identity pool."),
    settings.String(
        "proxy.host",
        default="",
        doc="The HTTP proxy to the registry; without it this machine's variables https_proxy and no_proxy count.",
        importance=Importance.LOW,
    ),
    settings.Int("proxy.port", default=-1, doc="The proxy's port.", importance=Importance.LOW),
    settings.Int(
        "http.connect.timeout.ms",
        default=60_000,
        doc="How long an answer is waited for, if it is more than http.read.timeout.ms.",
        importance=Importance.LOW,
    ),
    settings.Int(
        "http.read.timeout.ms", default=60_000, doc="How long an answer is waited for.", importance=Importance.LOW
    ),
    settings.Int(
        "max.retries",
        default=3,
        doc="How often all addresses are asked again when none answers, before errors.retry.* applies.",
        importance=Importance.LOW,
    ),
    settings.Int(
        "retries.wait.ms", default=1000, doc="The pause before the first of these.", importance=Importance.LOW
    ),
    settings.Int(
        "retries.max.wait.ms", default=20_000, doc="The longest pause between them.", importance=Importance.LOW
    ),
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
