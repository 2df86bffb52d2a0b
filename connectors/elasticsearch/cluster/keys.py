"""The keys that sink and source share: Confluent's names for Elasticsearch, Aiven's for OpenSearch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final
from urllib.parse import unquote, urlsplit

from connect import ConfigError, settings
from connectors.elasticsearch.cluster.security_keys import (
    ApiKeyOptions,
    AwsOptions,
    ElasticsearchTls,
    LoginOptions,
    OpenSearchTls,
    ProxyOptions,
    login,
)

_CLUSTER: Final = "Cluster"


class _ReachOptions(settings.Options):
    """How nodes are asked."""

    nodes = settings.List(
        "connection.url",
        importance="HIGH",
        group=_CLUSTER,
        width="LONG",
        doc="The nodes, with commas: http://one:9200,http://two:9200. Each task begins at a random one and rotates; "
        "one that does not answer is skipped for a while.",
    )
    connect_timeout = settings.Int(
        "connection.timeout.ms",
        default=1000,
        importance="LOW",
        group=_CLUSTER,
        validator=settings.at_least(1),
        convert=settings.seconds,
        doc="How long to wait for a connection.",
    )
    read_timeout = settings.Int(
        "read.timeout.ms",
        default=3000,
        importance="LOW",
        group=_CLUSTER,
        validator=settings.at_least(1),
        convert=settings.seconds,
        doc="How long to wait for a response. A request without one is retried.",
    )
    compression = settings.Boolean(
        "connection.compression",
        default=False,
        importance="LOW",
        group=_CLUSTER,
        doc="Whether requests and responses are compressed (gzip).",
    )
    idle = settings.Int(
        "max.connection.idle.time.ms",
        default=60_000,
        importance="LOW",
        group=_CLUSTER,
        validator=settings.at_least(0),
        convert=settings.seconds,
        doc="A connection that was idle for longer is replaced.",
    )
    retries = settings.Int(
        "max.retries",
        default=5,
        importance="LOW",
        group=_CLUSTER,
        validator=settings.at_least(0),
        doc="How often a request is retried after a transient error: an unavailable node, 429, 503.",
    )
    backoff = settings.Long(
        "retry.backoff.ms",
        default=100,
        importance="LOW",
        group=_CLUSTER,
        validator=settings.at_least(0),
        convert=settings.seconds,
        doc="How long to wait before the first retry; each time twice as long, at most ten seconds, with jitter.",
    )


class ClusterOptions(_ReachOptions, LoginOptions):
    """The options of both products.

    Attributes:
        product: "Elasticsearch" or "OpenSearch".
        connections: to each node: the number of threads that may send requests at a time.
    """

    product: ClassVar[str]
    connections: int = 5

    def check_cluster(self) -> None:
        """Raise ConfigError for an invalid URL, or keys that contradict each other."""
        for key, why in cluster_problems(self.config):
            raise ConfigError(key, why)

    @property
    def urls(self) -> tuple[str, ...]:
        """The nodes, without user and password."""
        return tuple(url for url, _ in map(_node, self.nodes))

    @property
    def user(self) -> tuple[str, str] | None:
        """User and password: those of the keys, else those in a node's URL."""
        in_urls = (user for _, user in map(_node, self.nodes) if user)
        return login(self.username, self.password) or next(in_urls, None)

    @property
    def where(self) -> str:
        """For messages: "Elasticsearch at http://one:9200"."""
        return f"{self.product} at {', '.join(self.urls)}"


class ElasticsearchOptions(ClusterOptions, ApiKeyOptions, ElasticsearchTls, ProxyOptions):
    """An Elasticsearch cluster."""

    product = "Elasticsearch"


class OpenSearchOptions(ClusterOptions, OpenSearchTls, AwsOptions, ProxyOptions):
    """An OpenSearch cluster."""

    product = "OpenSearch"


ProductOptions = ElasticsearchOptions | OpenSearchOptions


def cluster_problems(parsed: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Keys that contradict each other or are impossible, with what to do.

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
        raise ValueError("is not a list of URLs. Write http://host:9200 or https://host:9200, with commas.")
    # As in Java: a URL without a port means that of its scheme, and not 9200.
    port = port or (443 if parts.scheme == "https" else 80)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    user = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
    return f"{parts.scheme}://{host}:{port}{parts.path.rstrip('/')}", user
