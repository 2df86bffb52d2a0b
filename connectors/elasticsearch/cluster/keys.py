"""The keys that sink and source have in common: Confluent's names for Elasticsearch, Aiven's for OpenSearch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from connect import ConfigError, settings
from connect.settings import Definition
from connectors.elasticsearch.cluster.security_keys import (
    API_KEY,
    AWS,
    ELASTIC_TLS,
    OPENSEARCH_TLS,
    PROXY,
    USER,
    Aws,
    tls_of,
)

_CLUSTER: Final = "Cluster"

_REACH: Final = settings.define(
    settings.List(
        "connection.url",
        importance="HIGH",
        group=_CLUSTER,
        width="LONG",
        doc="The nodes, with commas: http://one:9200,http://two:9200. Each task begins at one by chance and takes "
        "turns; one that does not answer is left out for a while.",
    ),
    settings.Int(
        "connection.timeout.ms",
        default=1000,
        importance="LOW",
        group=_CLUSTER,
        validator=settings.at_least(1),
        doc="How long to wait for a connection.",
    ),
    settings.Int(
        "read.timeout.ms",
        default=3000,
        importance="LOW",
        group=_CLUSTER,
        validator=settings.at_least(1),
        doc="How long to wait for an answer. A request that got none is made again.",
    ),
    settings.Boolean(
        "connection.compression",
        default=False,
        importance="LOW",
        group=_CLUSTER,
        doc="Whether requests and answers are compressed (gzip).",
    ),
    settings.Int(
        "max.connection.idle.time.ms",
        default=60_000,
        importance="LOW",
        group=_CLUSTER,
        validator=settings.at_least(0),
        doc="A connection that was idle for longer is not used again, but made anew.",
    ),
    settings.Int(
        "max.retries",
        default=5,
        importance="LOW",
        group=_CLUSTER,
        validator=settings.at_least(0),
        doc="How often a request is made again after an error that passes: a node that is away, 429, 503.",
    ),
    settings.Long(
        "retry.backoff.ms",
        default=100,
        importance="LOW",
        group=_CLUSTER,
        validator=settings.at_least(0),
        doc="How long to wait before the first of those; each time twice as long, at most ten seconds, less a part "
        "by chance.",
    ),
)

#: What sink and source have in common, for each product.
ELASTICSEARCH: Final[Definition] = _REACH | USER | API_KEY | ELASTIC_TLS | PROXY
OPENSEARCH: Final[Definition] = _REACH | USER | OPENSEARCH_TLS | AWS | PROXY


@dataclass(frozen=True)
class ClusterSettings:
    """What the keys say, typed.

    Attributes:
        product: "Elasticsearch" or "OpenSearch".
        urls: the nodes, without user and password.
        connect_timeout, read_timeout, idle, backoff: seconds.
        retries: how often a request is made again.
        proxy: its URL, None where there is none; `proxy_user` goes with it.
        tls: Java's ssl.* keys, without a prefix.
        verify: False trusts every certificate.
        connections: to each node: as many threads may make requests at a time.
    """

    product: str
    urls: tuple[str, ...]
    user: tuple[str, str] | None = field(default=None, repr=False)
    api_key: str | None = field(default=None, repr=False)
    aws: Aws | None = None
    connect_timeout: float = 1.0
    read_timeout: float = 3.0
    idle: float = 60.0
    compression: bool = False
    retries: int = 5
    backoff: float = 0.1
    proxy: str | None = None
    proxy_user: tuple[str, str] | None = field(default=None, repr=False)
    tls: Mapping[str, str] = field(default_factory=dict, repr=False)
    verify: bool = True
    connections: int = 5

    @property
    def where(self) -> str:
        """For messages: "Elasticsearch at http://one:9200"."""
        return f"{self.product} at {', '.join(self.urls)}"

    @classmethod
    def of(cls, parsed: Mapping[str, Any], *, connections: int = 5) -> ClusterSettings:
        """Of a configuration that ELASTICSEARCH or OPENSEARCH, and more, has parsed.

        Raises:
            ConfigError: a URL is none, or keys contradict each other.
        """
        for key, why in cluster_problems(parsed):
            raise ConfigError(key, why)
        open_search = "aws.region" in parsed
        nodes = [_node(each) for each in parsed["connection.url"]]
        tls, verify = tls_of(parsed)
        proxy = f"http://{parsed['proxy.host']}:{parsed['proxy.port']}" if parsed["proxy.host"] else None
        api_key = parsed.get("connection.api.key")
        return cls(
            product="OpenSearch" if open_search else "Elasticsearch",
            urls=tuple(url for url, _ in nodes),
            user=_user(parsed, "connection") or next((user for _, user in nodes if user), None),
            api_key=api_key.reveal() if api_key else None,
            aws=Aws.of(parsed) if open_search else None,
            connect_timeout=parsed["connection.timeout.ms"] / 1000,
            read_timeout=parsed["read.timeout.ms"] / 1000,
            idle=parsed["max.connection.idle.time.ms"] / 1000,
            compression=parsed["connection.compression"],
            retries=parsed["max.retries"],
            backoff=parsed["retry.backoff.ms"] / 1000,
            proxy=proxy,
            proxy_user=_user(parsed, "proxy"),
            tls=tls,
            verify=verify,
            connections=connections,
        )


def cluster_problems(parsed: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Keys that contradict each other or cannot be obeyed, with what to do.

    Args:
        parsed: values by key; keys that could not be parsed are missing.
    """
    found: list[tuple[str, str]] = []
    urls = parsed.get("connection.url")
    if urls == []:
        found.append(("connection.url", "is required: http://localhost:9200, for example."))
    for url in urls or []:
        try:
            _node(url)
        except ValueError as error:
            found.append(("connection.url", str(error)))
    if str(parsed.get("elastic.security.protocol", "")).upper() == "SSL" and any(
        each.lower().startswith("http:") for each in urls or []
    ):
        found.append(("elastic.security.protocol", "SSL needs https:// in connection.url."))
    for one, other in (
        ("connection.username", "connection.password"),
        ("proxy.username", "proxy.password"),
        ("aws.access_key_id", "aws.secret_access_key"),
    ):
        if one in parsed and other in parsed and bool(parsed[one]) != bool(parsed[other]):
            missing = other if parsed[one] else one
            found.append((missing, f"is missing: {one} and {other} belong together."))
    if parsed.get("connection.api.key") and parsed.get("connection.username"):
        found.append(
            ("connection.api.key", "is one way to log in, connection.username another: leave one of them out.")
        )
    if parsed.get("proxy.username") and not parsed.get("proxy.host"):
        found.append(("proxy.host", "is missing: proxy.username needs a proxy."))
    kerberos = "Kerberos cannot be used here. Log in by connection.api.key or connection.username."
    keys = ("kerberos.user.principal", "kerberos.keytab.path")
    found += [(key, kerberos) for key in keys if parsed.get(key)]
    if (parsed.get("aws.access_key_id") or parsed.get("aws.sts.role.arn")) and not parsed.get("aws.region"):
        found.append(("aws.region", "is missing: a signature names its region, such as eu-central-1."))
    return found


def _node(written: str) -> tuple[str, tuple[str, str] | None]:
    """A node's URL without user and password, and those."""
    parts = urlsplit(written if "://" in written else f"http://{written}")
    try:
        port = parts.port
    except ValueError:
        port = -1
    if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
        raise ValueError("is no list of URLs. Write http://host:9200 or https://host:9200, with commas.")
    # As in Java: a URL without a port means that of its scheme, and not 9200.
    port = port or (443 if parts.scheme == "https" else 80)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    user = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
    return f"{parts.scheme}://{host}:{port}{parts.path.rstrip('/')}", user


def _user(parsed: Mapping[str, Any], prefix: str) -> tuple[str, str] | None:
    name, password = parsed[f"{prefix}.username"], parsed[f"{prefix}.password"]
    return (name, password.reveal()) if name and password else None
