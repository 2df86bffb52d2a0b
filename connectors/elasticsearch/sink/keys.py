"""The keys of the sinks: Confluent's for Elasticsearch, Aiven's for OpenSearch, and those that we add to both."""

from __future__ import annotations

from typing import Any, Final

import orjson

from connect import settings
from connect.data import evolution_policy
from connect.settings import Definition, WithoutEffect
from connectors.elasticsearch.cluster.keys import ELASTICSEARCH, OPENSEARCH

INSERT: Final = "insert"
UPSERT: Final = "upsert"
SCRIPT: Final = "script"
IGNORE: Final = "ignore"
WARN: Final = "warn"
REPORT: Final = "report"
FAIL: Final = "fail"
DELETE: Final = "delete"
#: What is done with a document where nobody says it: the connector's error policy has it, or the task fails.
POLICY: Final = "policy"

_WRITING: Final = "Writing"
_DOCUMENTS: Final = "Documents"
_TARGETS: Final = "Targets"
_BAD: Final = "Bad documents"


def _templates(value: str) -> list[Any]:
    try:
        parsed = orjson.loads(value) if value else []
    except orjson.JSONDecodeError as error:
        raise ValueError(f"is no JSON: {error}.") from None
    if not isinstance(parsed, list) or not all(isinstance(each, dict) for each in parsed):
        raise ValueError('is no list of objects, such as [{"texts":{"match_mapping_type":"string",..}}].')
    return parsed


class CommonOptions(
    settings.Options,
    without_effect={
        "auto.create.indices.at.start": WithoutEffect("an index is made before its first record", unless=("false",)),
        "flush.synchronously": "offsets are those that records were consumed at, whatever transformations do",
        "log.sensitive.data": WithoutEffect("no log has what documents hold", unless=("false",)),
        "type.name": WithoutEffect("documents have no types any more", unless=("_doc",)),
    },
):
    """The keys that the sinks for both products have."""

    batch_size = settings.Int(
        "batch.size",
        default=2000,
        group=_WRITING,
        validator=settings.at_least(1),
        doc="How many records a bulk request has at most.",
    )
    bulk_bytes = settings.Long(
        "bulk.size.bytes",
        default=5 * 1024 * 1024,
        importance="LOW",
        group=_WRITING,
        validator=settings.at_least(-1),
        doc="How large a bulk request is at most, in bytes, unless one record alone is larger. -1: no limit.",
    )
    in_flight = settings.Int(
        "max.in.flight.requests",
        default=5,
        group=_WRITING,
        validator=settings.between(1, 100),
        doc="How many bulk requests a task has on their way at a time.",
    )
    buffered_records = settings.Int(
        "max.buffered.records",
        default=20_000,
        importance="LOW",
        group=_WRITING,
        validator=settings.at_least(1),
        doc="How many records wait, or are on their way, before no more are consumed.",
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
        doc="Understood; without effect. Offsets are those that records were consumed at, whatever transformations do.",
    )
    script_source = settings.String(
        "script.source",
        default=None,
        group=_WRITING,
        width="LONG",
        doc="The script of the write method script; params.doc is the record's document. Added.",
    )
    script_id = settings.String(
        "script.id", default=None, group=_WRITING, doc="The same, one that is stored in the cluster. Added."
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
    pipeline = settings.String(
        "pipeline", default=None, group=_WRITING, doc="The ingest pipeline that documents go through. Added."
    )
    key_ignored = settings.Boolean(
        "key.ignore",
        default=False,
        importance="HIGH",
        group=_DOCUMENTS,
        doc="Whether a document's id is where its record lies, topic+partition+offset, and not the record's key.",
    )
    keyless = settings.List(
        "topic.key.ignore",
        default=[],
        importance="LOW",
        group=_DOCUMENTS,
        convert=frozenset[str],
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
        doc="Dynamic templates of indices that are made: a JSON list as in the cluster's own interface. Added.",
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
        convert=lambda written: tuple(written.split(".")),
        doc="That field; dots lead into objects.",
    )
    index_format = settings.String(
        "index.name.format",
        default="${topic}",
        group=_TARGETS,
        doc="The index of a record: ${topic}, ${key.NAME}, ${value.NAME}, ${header.NAME} (dots lead into objects), "
        "${timestamp:%Y.%m.%d} (when the record was made, UTC; ${value.NAME:%Y.%m} for a field). Added.",
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
        doc="What becomes of a document that the cluster refuses: ignore, warn, report (to the connector's error "
        "policy), fail. By default it is report where there is such a policy, else fail.",
    )
    written_conflicts = settings.String(
        "behavior.on.version.conflict",
        default=IGNORE,
        importance="LOW",
        group=_BAD,
        validator=settings.one_of("default", IGNORE, WARN, REPORT, FAIL, ignore_case=True),
        doc="What becomes of a record whose document is there in the same or a newer version: ignore (it is an old "
        "record that came again), warn, report, fail.",
    )
    drop_invalid = settings.Boolean(
        "drop.invalid.message",
        default=False,
        importance="LOW",
        group=_BAD,
        doc="Whether a record that cannot be made a document is left out, with a line in the log.",
    )


#: The policy of all sinks. By default the mapping is the cluster's matter, as with Java's connectors.
_EVOLUTION: Final[Definition] = (
    evolution_policy.EvolutionOptions.definition()
    .replaced(
        "schema.evolution",
        group=_DOCUMENTS,
        doc="How the mapping of an index may be changed so that records with a schema fit: add (fields, with the types "
        "of the schema, before the cluster guesses them). Several with commas; full for all, none for none. No field "
        "of an index can change its type, and every field may be null. Added.",
    )
    .replaced(
        "schema.evolution.unknown.fields",
        group=_DOCUMENTS,
        doc="What a field means that the mapping does not have and that may not be added: reject (the record does not "
        "fit) or ignore (the field is not written). Added.",
    )
    .replaced(
        "schema.evolution.on.mismatch",
        default=evolution_policy.PASS,
        group=_BAD,
        doc="What happens to a record that does not fit the mapping: fail (the task fails), quarantine (the record "
        "goes to the error policy, the others are written), pass (the cluster decides; see "
        "behavior.on.malformed.documents). Added.",
    )
)


def _flush_timeout(default: int) -> Definition:
    return settings.define(
        settings.Long(
            "flush.timeout.ms",
            default=default,
            importance="LOW",
            group=_WRITING,
            validator=settings.at_least(1),
            doc="How long to wait, before offsets are committed, for all that is on its way. Then the task fails.",
        )
    )


ELASTICSEARCH_SINK: Final[Definition] = (
    ELASTICSEARCH
    | CommonOptions.definition()
    | _EVOLUTION
    | _flush_timeout(180_000)
    | settings.define(
        settings.String(
            "write.method",
            default=INSERT,
            importance="LOW",
            group=_WRITING,
            validator=settings.one_of(INSERT, UPSERT, SCRIPT, ignore_case=True),
            doc="insert: a record is the whole document of its id. upsert: its fields are written into the document of "
            "its id, which is made if need be. script: a script changes that document.",
        ),
        settings.Boolean(
            "use.autogenerated.ids",
            default=False,
            group=_DOCUMENTS,
            doc="Whether, with key.ignore, the cluster chooses ids: faster, but a record that comes again is doubled.",
        ),
        settings.String(
            "external.resource.usage",
            default="DISABLED",
            importance="HIGH",
            group=_TARGETS,
            validator=settings.one_of(
                "disabled", "index", "datastream", "alias_index", "alias_datastream", ignore_case=True
            ),
            doc="What topic.to.external.resource.mapping names, all of it there already: INDEX, DATASTREAM, "
            "ALIAS_INDEX, ALIAS_DATASTREAM. DISABLED: indices are named for topics, and made if need be.",
        ),
        settings.List(
            "topic.to.external.resource.mapping",
            default=[],
            importance="HIGH",
            group=_TARGETS,
            doc="topic:resource, with commas, for every topic.",
        ),
        settings.Int(
            "max.external.resource.mappings",
            default=15,
            group=_TARGETS,
            validator=settings.at_least(1),
            doc="How many pairs topic.to.external.resource.mapping may have.",
        ),
        settings.String(
            "data.stream.type",
            default="NONE",
            importance="LOW",
            group=_TARGETS,
            validator=settings.one_of("none", "logs", "metrics", ignore_case=True),
            doc="LOGS, METRICS: records go to the data stream type-dataset-namespace. NONE: to an index.",
        ),
        settings.String(
            "data.stream.dataset", default="", importance="LOW", group=_TARGETS, doc="The dataset in that name."
        ),
        settings.String(
            "data.stream.namespace",
            default="${topic}",
            importance="LOW",
            group=_TARGETS,
            doc="The namespace in that name; ${topic} is the record's topic.",
        ),
        settings.List(
            "data.stream.timestamp.field",
            default=[],
            importance="LOW",
            group=_TARGETS,
            doc="The first of these fields that a record has becomes @timestamp; else it is when the record was made.",
        ),
    )
)
OPENSEARCH_SINK: Final[Definition] = (
    OPENSEARCH
    | CommonOptions.definition().replaced("behavior.on.null.values", default=IGNORE)
    | _EVOLUTION
    | _flush_timeout(10_000)
    | settings.define(
        settings.String(
            "index.write.method",
            default=INSERT,
            importance="LOW",
            group=_WRITING,
            validator=settings.one_of(INSERT, UPSERT, SCRIPT, ignore_case=True),
            doc="insert: a record is the whole document of its id. upsert: its fields are written into the document of "
            "its id, which is made if need be. script: a script changes that document.",
        ),
        settings.String(
            "key.ignore.id.strategy",
            default="topic.partition.offset",
            importance="LOW",
            group=_DOCUMENTS,
            validator=settings.one_of("none", "record.key", "topic.partition.offset", ignore_case=True),
            doc="Ids with key.ignore: topic.partition.offset; record.key, without versions; none, the cluster's "
            "choice, which doubles a record that comes again.",
        ),
        settings.String(
            "existing.resource.type",
            default="none",
            importance="LOW",
            group=_TARGETS,
            validator=settings.one_of("none", "index", "data_stream", "alias", ignore_case=True),
            doc="What topic.to.existing.resource.mapping names, all of it there already: index, data_stream, alias. "
            "none: indices are named for topics, and made if need be.",
        ),
        settings.List(
            "topic.to.existing.resource.mapping",
            default=[],
            importance="LOW",
            group=_TARGETS,
            doc="topic:resource, with commas, for every topic.",
        ),
        settings.Boolean(
            "data.stream.enabled",
            default=False,
            group=_TARGETS,
            doc="Whether records go to data streams, named for their topics, and not to indices.",
        ),
        settings.String(
            "data.stream.prefix", default=None, group=_TARGETS, doc="Comes before the topic in that name, with a dash."
        ),
        settings.String(
            "data.stream.timestamp.field",
            default="@timestamp",
            group=_TARGETS,
            validator=settings.non_empty,
            doc="The field with the time; a record that has none gets when it was made.",
        ),
        settings.String(
            "data.streams.existing.index.template.name",
            default=None,
            group=_TARGETS,
            doc="The index template that is there for the data streams; by default one is made for each.",
        ),
    )
)
