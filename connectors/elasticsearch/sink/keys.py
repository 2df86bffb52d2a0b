"""The keys of the sinks: Confluent's for Elasticsearch, Aiven's for OpenSearch, and new ones for both."""

from __future__ import annotations

from typing import Any, Final

import orjson

from connect import ConfigError, settings
from connect.data.evolution_policy import PASS, EvolutionOptions, EvolutionPolicy
from connect.kit.pages import steps_of
from connect.settings import Config, Listed, WithoutEffect
from connectors.elasticsearch.cluster import ClusterOptions, ElasticsearchOptions, OpenSearchOptions
from connectors.elasticsearch.sink.choices import (
    BY_KEY,
    BY_PLACE,
    DELETE,
    FAIL,
    IGNORE,
    INSERT,
    POLICY,
    REPORT,
    SCRIPT,
    UPSERT,
    WARN,
    ids_if_keyless,
    method_of,
    pair,
    problems,
    resource_kind,
    resources_of,
    stream_of,
    word_of,
)

_WRITING: Final = "Writing"
_DOCUMENTS: Final = "Documents"
_TARGETS: Final = "Targets"
_BAD: Final = "Bad documents"


def _templates(value: str) -> list[Any]:
    try:
        parsed = orjson.loads(value) if value else []
    except orjson.JSONDecodeError as error:
        raise ValueError(f"is not JSON: {error}.") from None
    if not isinstance(parsed, list) or not all(isinstance(each, dict) for each in parsed):
        raise ValueError('is not a list of objects, such as [{"texts":{"match_mapping_type":"string",..}}].')
    return parsed


class _OwnOptions(
    ClusterOptions,
    without_effect={
        "auto.create.indices.at.start": WithoutEffect("an index is made before its first record", unless=("false",)),
        "flush.synchronously": "offsets are those that records were consumed at, whatever transformations do",
        "log.sensitive.data": WithoutEffect("no log has what documents hold", unless=("false",)),
        "type.name": WithoutEffect("documents have no types any more", unless=("_doc",)),
    },
):
    """The keys that the sinks of both products have, except those of schema evolution."""

    batch_size = settings.Int(
        "batch.size",
        default=2000,
        group=_WRITING,
        validator=settings.at_least(1),
        doc="The most records of a bulk request.",
    )
    bulk_bytes = settings.Long(
        "bulk.size.bytes",
        default=5 * 1024 * 1024,
        importance="LOW",
        group=_WRITING,
        validator=settings.at_least(-1),
        doc="The most bytes of a bulk request, unless one record alone is larger. -1: no limit.",
    )
    in_flight = settings.Int(
        "max.in.flight.requests",
        default=5,
        group=_WRITING,
        validator=settings.between(1, 100),
        doc="How many bulk requests a task sends at a time.",
    )
    buffered_records = settings.Int(
        "max.buffered.records",
        default=20_000,
        importance="LOW",
        group=_WRITING,
        validator=settings.at_least(1),
        doc="How many records may wait, or be on their way, before consumption pauses.",
    )
    buffered_bytes = settings.Long(
        "max.buffered.bytes",
        default=64 * 1024 * 1024,
        importance="LOW",
        group=_WRITING,
        validator=settings.at_least(1),
        doc="The same in bytes of documents. Added.",
    )
    linger = settings.Long(
        "linger.ms",
        default=1,
        importance="LOW",
        group=_WRITING,
        validator=settings.at_least(0),
        convert=settings.seconds,
        doc="How long records wait for more of them while a request could be made.",
    )
    flush_synchronously = settings.Boolean(
        "flush.synchronously",
        default=False,
        importance="LOW",
        group=_WRITING,
        doc="Without effect: offsets are always those at which records were consumed, whatever transformations do.",
    )
    script_source = settings.String(
        "script.source",
        default=None,
        group=_WRITING,
        width="LONG",
        doc="The script of the write method script; params.doc is the record's document. Added.",
    )
    script_id = settings.String(
        "script.id", default=None, group=_WRITING, doc="The same, of a script that is stored in the cluster. Added."
    )
    script_lang = settings.String(
        "script.lang", default="painless", group=_WRITING, doc="The language of script.source. Added."
    )
    script_upsert = settings.String(
        "script.upsert",
        default="document",
        group=_WRITING,
        validator=settings.one_of("document", "script", "none", ignore_case=True),
        convert=str.lower,
        doc="Where there is no document yet: document (the record's is inserted), script (it runs on an empty one), "
        "none (nothing is written). Added.",
    )
    unavailable = settings.String(
        "unavailable.value.placeholder",
        default=None,
        importance="LOW",
        group=_WRITING,
        doc="With the write method upsert: what stands for a value that the source database did not send, because an "
        "update did not change it. A document that is there keeps its own. Empty: it is written as any value. Added.",
    )
    pipeline = settings.String(
        "pipeline",
        default=None,
        group=_WRITING,
        listed=Listed.BY_CONNECTOR,
        doc="The ingest pipeline that documents go through. Added.",
    )
    key_ignored = settings.Boolean(
        "key.ignore",
        default=False,
        importance="HIGH",
        group=_DOCUMENTS,
        doc="Whether a document's id is the record's topic+partition+offset instead of its key.",
    )
    keyless = settings.List(
        "topic.key.ignore",
        default=[],
        importance="LOW",
        group=_DOCUMENTS,
        convert=frozenset[str],
        listed=Listed.TOPICS,
        doc="Topics for which key.ignore is true.",
    )
    schema_ignored = settings.Boolean(
        "schema.ignore",
        default=False,
        importance="LOW",
        group=_DOCUMENTS,
        doc="Whether the mapping of an index is left to the cluster, and not made from the schema of its first record.",
    )
    schemaless = settings.List(
        "topic.schema.ignore",
        default=[],
        importance="LOW",
        group=_DOCUMENTS,
        convert=frozenset[str],
        listed=Listed.TOPICS,
        doc="Topics for which schema.ignore is true.",
    )
    compact_maps = settings.Boolean(
        "compact.map.entries",
        default=True,
        importance="LOW",
        group=_DOCUMENTS,
        doc="Whether a map with text keys is an object; else it is a list of objects with key and value.",
    )
    dynamic_templates = settings.String(
        "dynamic.templates",
        default=None,
        importance="LOW",
        group=_DOCUMENTS,
        width="LONG",
        convert=_templates,
        doc="Dynamic templates of new indices: a JSON list as in the cluster's own interface. Added.",
    )
    version_header = settings.String(
        "external.version.header",
        default="",
        importance="LOW",
        group=_DOCUMENTS,
        doc="The header with a document's version, a whole number; by default it is the record's offset.",
    )
    routing = settings.String(
        "routing.type",
        default="none",
        importance="LOW",
        group=_DOCUMENTS,
        validator=settings.one_of("none", "key", "value", ignore_case=True),
        convert=str.lower,
        doc="What decides on a document's shard: none (its id), key (the record's key), value (a field).",
    )
    routing_path = settings.String(
        "routing.type.record.value.path",
        default=None,
        importance="LOW",
        group=_DOCUMENTS,
        convert=steps_of,
        doc="That field: a JSON pointer such as /customer/id, or customer.id.",
    )
    index_format = settings.String(
        "index.name.format",
        default="${topic}",
        group=_TARGETS,
        listed=Listed.BY_CONNECTOR,
        doc="The index of a record: ${topic}, ${key.NAME}, ${value.NAME}, ${header.NAME} (dots lead into objects), "
        "${timestamp:%Y.%m.%d} (the record's timestamp, UTC; ${value.NAME:%Y.%m} for a field). Added.",
    )
    written_nulls = settings.String(
        "behavior.on.null.values",
        default=FAIL,
        importance="LOW",
        group=_BAD,
        validator=settings.one_of("default", IGNORE, DELETE, FAIL, ignore_case=True),
        doc="What a record without a value means: ignore, delete (the document of its key), fail.",
    )
    written_malformed = settings.String(
        "behavior.on.malformed.documents",
        default=None,
        importance="LOW",
        group=_BAD,
        validator=settings.one_of("default", IGNORE, WARN, REPORT, FAIL, ignore_case=True),
        doc="What happens to a document that the cluster refuses: ignore, warn, report (to the connector's error "
        "policy), fail. By default it is report where there is such a policy, else fail.",
    )
    written_conflicts = settings.String(
        "behavior.on.version.conflict",
        default=IGNORE,
        importance="LOW",
        group=_BAD,
        validator=settings.one_of("default", IGNORE, WARN, REPORT, FAIL, ignore_case=True),
        doc="What happens to a record whose document exists in the same or a newer version: ignore (it is a repeated "
        "old record), warn, report, fail.",
    )
    drop_invalid = settings.Boolean(
        "drop.invalid.message",
        default=False,
        importance="LOW",
        group=_BAD,
        doc="Whether a record that cannot become a document is left out, with a line in the log, where there is no "
        "error policy. Where there is one it has the record in any case.",
    )


class SinkOptions(_OwnOptions, EvolutionOptions):
    """The keys, and what they mean together.

    Attributes:
        method: insert, upsert or script.
        script: the value of "script" in an update, None for other methods; its params are added.
        ids: BY_KEY, BY_PLACE or BY_CLUSTER, for topics that are not in `keyless`; `ids_if_keyless` for those that are.
        resources: the existing target of each topic; empty: none are given.
        resource_kind: of these: index, data_stream or alias.
        stream: the format of data streams' names, None where documents go to indices.
        stream_template: the index template of data streams, None where one is created.
        time_fields: of data streams, see data.stream.timestamp.field.
        time_field: the field for the time: @timestamp.
        nulls, malformed, conflicts: a word each, see behavior.on.*.
        policy: how indices may be changed, and what happens to records that do not fit.
    """

    # By default the mapping is the cluster's matter, as with Java's connectors.
    allowed = EvolutionOptions.allowed.replaced(
        group=_DOCUMENTS,
        doc="How the mapping of an index may be changed so that records with a schema fit: add (fields, with the types "
        "of the schema, before the cluster guesses them). Several with commas; full for all, none for none. No field "
        "of an index can change its type, and every field may be null. Added.",
    )
    unknown_fields = EvolutionOptions.unknown_fields.replaced(
        group=_DOCUMENTS,
        doc="What to do with a field that the mapping does not have and that may not be added: reject (the record "
        "does not fit) or ignore (the field is not written). Added.",
    )
    mismatch = EvolutionOptions.mismatch.replaced(
        default=PASS,
        group=_BAD,
        doc="What happens to a record that does not fit the mapping: fail (the task fails), quarantine (the record "
        "goes to the error policy, the others are written), pass (the cluster decides; see "
        "behavior.on.malformed.documents). Added.",
    )
    flush_timeout = settings.Long(
        "flush.timeout.ms",
        default=180_000,
        importance="LOW",
        group=_WRITING,
        validator=settings.at_least(1),
        convert=settings.seconds,
        doc="How long a commit of offsets may wait for running requests. Then the task fails.",
    )

    stream_template: str | None = None
    time_fields: tuple[str, ...] = ()
    time_field: str = "@timestamp"

    def __init__(self, config: Config) -> None:
        """Check parsed values.

        Raises:
            ConfigError: they contradict each other.
        """
        super().__init__(config)
        for key, why in problems(config):
            raise ConfigError(key, why)
        self.connections = self.in_flight
        self.method = method_of(config)[1]
        inline = {"lang": self.script_lang, "source": self.script_source}
        self.script = ({"id": self.script_id} if self.script_id else inline) if self.method == SCRIPT else None
        self.ids_if_keyless = ids_if_keyless(config)
        self.ids = self.ids_if_keyless if self.key_ignored else BY_KEY
        self.resources = dict(map(pair, resources_of(config)))
        self.resource_kind = resource_kind(config)
        self.stream = stream_of(config)
        self.nulls = word_of(self.written_nulls, type(self).written_nulls.default)
        self.malformed = word_of(self.written_malformed, POLICY)
        self.conflicts = word_of(self.written_conflicts, IGNORE)
        self.policy = EvolutionPolicy.of(config)

    def ids_of(self, topic: str) -> str:
        """The origin of the ids of a topic's documents."""
        found = self.ids_if_keyless if topic in self.keyless else self.ids
        # A data stream has an id once: all but the first record of a key would be refused.
        return BY_PLACE if self.to_streams and found == BY_KEY else found

    def versioned(self, topic: str) -> bool:
        """Whether a topic's documents have versions: the cluster then refuses older ones, whatever arrives first."""
        return self.method == INSERT and self.ids_of(topic) == BY_KEY

    def ordered(self, topic: str) -> bool:
        """Whether the order matters in which a topic's documents arrive at the cluster.

        Where it refuses older versions it matters only after a deletion, which it soon forgets.
        """
        return self.ids_of(topic) == BY_KEY and (not self.versioned(topic) or self.nulls == DELETE)

    @property
    def to_streams(self) -> bool:
        """Whether documents go to data streams, which accept only new ones."""
        return self.stream is not None or self.resource_kind == "data_stream"


class ElasticsearchSinkOptions(ElasticsearchOptions, SinkOptions):
    """The keys of the sink for Elasticsearch."""

    write_method = settings.String(
        "write.method",
        default=INSERT,
        importance="LOW",
        group=_WRITING,
        validator=settings.one_of(INSERT, UPSERT, SCRIPT, ignore_case=True),
        doc="insert: a record is the whole document of its id. upsert: its fields are written into the document of "
        "its id, which is created if needed. script: a script changes that document.",
    )
    autogenerated_ids = settings.Boolean(
        "use.autogenerated.ids",
        default=False,
        group=_DOCUMENTS,
        doc="Whether, with key.ignore, the cluster chooses ids: faster, but a repeated record is a second document.",
    )
    external_usage = settings.String(
        "external.resource.usage",
        default="DISABLED",
        importance="HIGH",
        group=_TARGETS,
        validator=settings.one_of(
            "disabled", "index", "datastream", "alias_index", "alias_datastream", ignore_case=True
        ),
        doc="What topic.to.external.resource.mapping names, all of which must exist: INDEX, DATASTREAM, "
        "ALIAS_INDEX, ALIAS_DATASTREAM. DISABLED: indices are named after topics, and created if needed.",
    )
    external_resources = settings.List(
        "topic.to.external.resource.mapping",
        default=[],
        importance="HIGH",
        group=_TARGETS,
        doc="topic:resource, with commas, for every topic.",
    )
    external_resources_max = settings.Int(
        "max.external.resource.mappings",
        default=15,
        group=_TARGETS,
        validator=settings.at_least(1),
        doc="How many pairs topic.to.external.resource.mapping may have.",
    )
    stream_type = settings.String(
        "data.stream.type",
        default="NONE",
        importance="LOW",
        group=_TARGETS,
        validator=settings.one_of("none", "logs", "metrics", ignore_case=True),
        doc="LOGS, METRICS: records go to the data stream type-dataset-namespace. NONE: to an index.",
    )
    stream_dataset = settings.String(
        "data.stream.dataset", default="", importance="LOW", group=_TARGETS, doc="The dataset in that name."
    )
    stream_namespace = settings.String(
        "data.stream.namespace",
        default="${topic}",
        importance="LOW",
        group=_TARGETS,
        doc="The namespace in that name; ${topic} is the record's topic.",
    )
    timestamp_fields = settings.List(
        "data.stream.timestamp.field",
        default=[],
        importance="LOW",
        group=_TARGETS,
        doc="The first of these fields that a record has becomes @timestamp; else, where the document has no "
        "@timestamp, the record's own timestamp does.",
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.time_fields = tuple(self.timestamp_fields)


class OpenSearchSinkOptions(OpenSearchOptions, SinkOptions):
    """The keys of the sink for OpenSearch."""

    written_nulls = SinkOptions.written_nulls.replaced(default=IGNORE)
    flush_timeout = SinkOptions.flush_timeout.replaced(default=10_000)
    index_write_method = settings.String(
        "index.write.method",
        default=INSERT,
        importance="LOW",
        group=_WRITING,
        validator=settings.one_of(INSERT, UPSERT, SCRIPT, ignore_case=True),
        doc="insert: a record is the whole document of its id. upsert: its fields are written into the document of "
        "its id, which is made if need be. script: a script changes that document.",
    )
    id_strategy = settings.String(
        "key.ignore.id.strategy",
        default="topic.partition.offset",
        importance="LOW",
        group=_DOCUMENTS,
        validator=settings.one_of("none", "record.key", "topic.partition.offset", ignore_case=True),
        doc="Ids with key.ignore: topic.partition.offset; record.key, as without key.ignore; none, the cluster's "
        "choice: a repeated record is a second document.",
    )
    existing_type = settings.String(
        "existing.resource.type",
        default="none",
        importance="LOW",
        group=_TARGETS,
        validator=settings.one_of("none", "index", "data_stream", "alias", ignore_case=True),
        doc="What topic.to.existing.resource.mapping names, all of which must exist: index, data_stream, alias. "
        "none: indices are named after topics, and created if needed.",
    )
    existing_resources = settings.List(
        "topic.to.existing.resource.mapping",
        default=[],
        importance="LOW",
        group=_TARGETS,
        doc="topic:resource, with commas, for every topic.",
    )
    stream_enabled = settings.Boolean(
        "data.stream.enabled",
        default=False,
        group=_TARGETS,
        doc="Whether records go to data streams, named after their topics, instead of indices.",
    )
    stream_prefix = settings.String(
        "data.stream.prefix",
        default=None,
        group=_TARGETS,
        doc="The prefix of the topic in that name, followed by a dash.",
    )
    timestamp_field = settings.String(
        "data.stream.timestamp.field",
        default="@timestamp",
        group=_TARGETS,
        validator=settings.non_empty,
        doc="The field with the time; a record without it gets its own timestamp.",
    )
    existing_template = settings.String(
        "data.streams.existing.index.template.name",
        default=None,
        group=_TARGETS,
        doc="The index template of the data streams, which is created if there is none of this name; by default one is "
        "created for each.",
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.stream_template = self.existing_template
        self.time_field = self.timestamp_field
