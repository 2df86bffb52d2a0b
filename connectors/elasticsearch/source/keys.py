"""The keys of the Elasticsearch and OpenSearch sources, beside those of `cluster`, and their names elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import orjson

from connect import ConfigError, settings
from connect.settings import Alias, Listed, WithoutEffect
from connectors.elasticsearch.cluster import ClusterOptions, ElasticsearchOptions, OpenSearchOptions

SCHEMALESS: Final = "schemaless"
JSON: Final = "json"
MAPPING: Final = "mapping"
FORMATS: Final = (SCHEMALESS, JSON, MAPPING)
ID: Final = "id"
NO_KEY: Final = "none"
HEADERS: Final = ("_index", "_id", "_seq_no", "_primary_term", "_version", "_routing")

_WHAT: Final = "Documents"
_READING: Final = "Reading"
_RECORDS: Final = "Records"


def _query(written: str) -> Any:
    """The user's query, None for none."""
    if not written:
        return None
    try:
        parsed = orjson.loads(written)
    except orjson.JSONDecodeError as error:
        raise ValueError(f'is not JSON: {error}. Write {{"term": {{"status": "paid"}}}}, for example.') from None
    if not isinstance(parsed, dict) or len(parsed) != 1:
        raise ValueError('is not a query. Write {"term": {"status": "paid"}}, for example: what stands under "query".')
    return parsed


def _topic(name: str, value: Any) -> None:
    if rest := re.sub(r"[a-zA-Z0-9._-]", "", value.replace("${index}", "")):
        raise ValueError(f'"{rest[0]}" cannot be in the name of a topic.')


def _headers(name: str, value: Any) -> None:
    for each in value:
        if each not in HEADERS:
            raise ValueError(f'"{each}" is none. There are {", ".join(HEADERS)}.')


def _nodes(_: str, config: Mapping[str, Any]) -> str | None:
    """The nodes from their host, port and scheme; None without a host."""
    scheme, port = config.get("es.scheme") or "http", config.get("es.port") or "9200"
    hosts = [host.strip() for host in (config.get("es.host") or "").split(";") if host.strip()]
    return ",".join(f"{scheme}://{host}:{port}" for host in hosts) or None


def _with_commas(written: str, _: Mapping[str, Any]) -> str:
    return written.replace(";", ",")


class SourceOptions(
    ClusterOptions,
    aliases={
        "es.host": Alias("connection.url", value=_nodes),
        "es.port": Alias("connection.url", value=_nodes),
        "es.scheme": Alias("connection.url", value=_nodes),
        "es.user": "connection.username",
        "es.password": "connection.password",
        "connection.attempts": "max.retries",
        "connection.backoff.ms": "retry.backoff.ms",
        "filters.whitelist": Alias("fields", value=_with_commas),
        "filters.blacklist": Alias("fields.exclude", value=_with_commas),
    },
    without_effect={
        "incrementing.secondary.field.name": "documents of one value are told apart by where they lie",
        "fieldname_converter": WithoutEffect("fields keep their names", unless=("nop",)),
        "es.compatibility": WithoutEffect("the server says what it is", unless=("false",)),
        "filters.json_cast": "a field is what the mapping says, or JSON with value.format=json",
    },
):
    """The keys of both sources, and those of D. Balinzo's connector."""

    # A page takes longer than a bulk request, and a source can wait longer.
    read_timeout = ClusterOptions.read_timeout.replaced(default=30_000)
    retries = ClusterOptions.retries.replaced(default=10)
    index_names = settings.List(
        "index.names",
        default=[],
        importance="HIGH",
        group=_WHAT,
        width="LONG",
        listed=Listed.BY_CONNECTOR,
        doc="What to read: names of indices, aliases and data streams, and patterns of them (orders-*).",
    )
    index_prefix = settings.String(
        "index.prefix",
        default="",
        importance="HIGH",
        group=_WHAT,
        doc="The same as index.names with a * at its end.",
    )
    query = settings.String(
        "query",
        default="",
        group=_WHAT,
        width="LONG",
        convert=_query,
        doc='Only documents that match this query, in JSON: {"term": {"status": "paid"}}.',
    )
    fields = settings.List(
        "fields", default=[], group=_WHAT, doc="The fields to read, with patterns (customer.*). Empty: all."
    )
    excluded = settings.List("fields.exclude", default=[], group=_WHAT, doc="Fields to leave out, of those.")
    cursor = settings.String(
        "incrementing.field.name",
        default="",
        importance="HIGH",
        group=_READING,
        doc="Read documents whose value of this field (a date, a number or a keyword) is higher than the last one. "
        "Empty: documents written since, by the sequence numbers of shards, which misses none.",
    )
    initial = settings.String(
        "incrementing.initial",
        default=None,
        importance="LOW",
        group=_READING,
        doc="With incrementing.field.name, without a stored offset: begin after this value.",
    )
    delay = settings.Long(
        "delay.ms",
        default=5_000,
        importance="HIGH",
        group=_READING,
        validator=settings.at_least(0),
        convert=settings.seconds,
        doc="With incrementing.field.name: how long a document may take from the time in a date until a search finds "
        "it; younger ones are not read yet. For other fields, the age of the highest value. With refresh=false also "
        "without that field.",
    )
    refresh = settings.Boolean(
        "refresh",
        default=True,
        importance="LOW",
        group=_READING,
        doc="Whether to refresh an index before it is read, so that searches find everything. It needs the "
        "privilege maintenance. false: wait for delay.ms, which must be longer than index.refresh_interval.",
    )
    poll_interval = settings.Int(
        "poll.interval.ms",
        default=5_000,
        importance="HIGH",
        group=_READING,
        validator=settings.at_least(0),
        convert=settings.seconds,
        doc="How often to look for something new.",
    )
    index_poll_interval = settings.Int(
        "index.poll.interval.ms",
        default=60_000,
        importance="LOW",
        group=_READING,
        validator=settings.at_least(100),
        convert=settings.seconds,
        doc="How often to look for new and deleted indices. Tasks restart when there are any.",
    )
    most_rows = settings.Int(
        "batch.max.rows",
        default=10_000,
        importance="LOW",
        group=_READING,
        validator=settings.between(1, 10_000),
        doc="The most documents of a request. The cluster's limit is index.max_result_window.",
    )
    most_bytes = settings.Int(
        "batch.max.bytes",
        default=4 * 1024 * 1024,
        importance="LOW",
        group=_READING,
        validator=settings.at_least(1024),
        doc="About how many bytes of documents to request at a time. Two such pages are in memory.",
    )
    keep_alive_ms = settings.Long(
        "pit.keep.alive.ms",
        default=60_000,
        importance="LOW",
        group=_READING,
        validator=settings.at_least(1_000),
        doc="How long the cluster keeps a view of a shard between two pages. A lost one is opened again at the "
        "current position.",
    )
    topic_prefix = settings.String(
        "topic.prefix", default="", importance="HIGH", group=_RECORDS, doc="The prefix of each topic's name."
    )
    topic_name = settings.String(
        "topic.name",
        default="${index}",
        importance="MEDIUM",
        group=_RECORDS,
        validator=_topic,
        doc="The topic, after topic.prefix. ${index} is the name of the index, of a data stream its own; characters "
        "that are invalid in topics become _.",
    )
    value_format = settings.String(
        "value.format",
        default=SCHEMALESS,
        importance="MEDIUM",
        group=_RECORDS,
        validator=settings.one_of(*FORMATS, ignore_case=True),
        convert=str.lower,
        doc="schemaless: documents as maps. json: the text of the document as it was indexed, for StringConverter, "
        "which is fastest. mapping: structs with a schema from the index's mapping.",
    )
    array_fields = settings.List(
        "array.fields",
        default=[],
        importance="LOW",
        group=_RECORDS,
        convert=frozenset[str],
        doc="With value.format=mapping: fields that hold several values (tags, items.codes), which a mapping does not "
        "show. Fields of type nested are always arrays.",
    )
    record_key = settings.String(
        "record.key",
        default=ID,
        importance="MEDIUM",
        group=_RECORDS,
        validator=settings.one_of(ID, NO_KEY, ignore_case=True),
        convert=str.lower,
        doc="id: the document's _id, as a string. none: no key.",
    )
    headers = settings.List(
        "headers",
        default=[],
        importance="LOW",
        group=_RECORDS,
        validator=_headers,
        doc=f"Headers of each record, of {', '.join(HEADERS)}.",
    )
    shards = settings.String("task.shards", default=None, internal=True, doc="JSON: the shards that a task reads.")

    connections = 2

    @property
    def names(self) -> list[str]:
        """The names and patterns of what is read."""
        prefix = [f"{self.index_prefix}*"] if self.index_prefix else []
        return [*filter(None, self.index_names), *prefix]

    def check(self) -> None:
        """Check that keys fit together, those of the cluster aside.

        Raises:
            ConfigError: they do not.
        """
        if not self.names:
            raise ConfigError("index.names", "is required, or index.prefix: name the indices to read.")
        for name in self.names:
            if re.search(r'[\\/?"<>| ,#:]', name) or name.startswith(("-", "_", "+")):
                raise ConfigError("index.names", f'"{name}" is neither the name of an index nor a pattern of names.')
        if self.initial is not None and not self.cursor:
            raise ConfigError(
                "incrementing.initial", "is for incrementing.field.name. Name that field, or leave it out."
            )
        if self.array_fields and self.value_format != MAPPING:
            raise ConfigError("array.fields", "is for value.format=mapping. Leave it out.")
        if not self.refresh and not self.delay:
            raise ConfigError("delay.ms", "must be longer than index.refresh_interval where refresh is false.")


class ElasticsearchSourceOptions(
    ElasticsearchOptions,
    SourceOptions,
    aliases={
        f"es.tls.{store}.{what}": f"elastic.https.ssl.{store}.{what}"
        for store in ("truststore", "keystore")
        for what in ("location", "password")
    },
):
    """The keys of the source for Elasticsearch."""


class OpenSearchSourceOptions(OpenSearchOptions, SourceOptions):
    """The keys of the source for OpenSearch."""
