"""The plug-ins that come with the runtime, by the names that they have in Java. A table: nothing is imported."""

from __future__ import annotations

from connect import __version__
from connect.plugins.ref import PluginKind, PluginRef, aliases

_PROVIDER = "org.apache.kafka.common.config.provider"
_POLICY = "org.apache.kafka.connect.connector.policy"

_CONNECTORS = [
    (
        PluginKind.SOURCE,
        "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "connectors.file:FileStreamSourceConnector",
        "org.apache.kafka.connect.file.FileStreamSourceTask",
    ),
    (
        PluginKind.SINK,
        "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "connectors.file:FileStreamSinkConnector",
        "org.apache.kafka.connect.file.FileStreamSinkTask",
    ),
    (
        PluginKind.SOURCE,
        "io.confluent.connect.jdbc.JdbcSourceConnector",
        "connectors.jdbc.source:JdbcSourceConnector",
        "io.confluent.connect.jdbc.source.JdbcSourceTask",
    ),
    (
        PluginKind.SINK,
        "io.confluent.connect.jdbc.JdbcSinkConnector",
        "connectors.jdbc.sink:JdbcSinkConnector",
        "io.confluent.connect.jdbc.sink.JdbcSinkTask",
    ),
    (
        PluginKind.SINK,
        "io.confluent.connect.s3.S3SinkConnector",
        "connectors.s3.sink:S3SinkConnector",
        "io.confluent.connect.s3.S3SinkTask",
    ),
    (
        PluginKind.SOURCE,
        "io.confluent.connect.s3.source.S3SourceConnector",
        "connectors.s3.source:S3SourceConnector",
        "io.confluent.connect.s3.source.S3SourceTask",
    ),
    (
        PluginKind.SOURCE,
        "io.debezium.connector.postgresql.PostgresConnector",
        "connectors.jdbc.capture:PostgresCdcSourceConnector",
        "io.debezium.connector.postgresql.PostgresConnectorTask",
    ),
    (
        PluginKind.SOURCE,
        "io.confluent.kafka.connect.datagen.DatagenConnector",
        "connectors.datagen:DatagenConnector",
        "io.confluent.kafka.connect.datagen.DatagenTask",
    ),
    (
        PluginKind.SINK,
        "io.confluent.connect.elasticsearch.ElasticsearchSinkConnector",
        "connectors.elasticsearch.sink:ElasticsearchSinkConnector",
        "io.confluent.connect.elasticsearch.ElasticsearchSinkTask",
    ),
    (
        PluginKind.SINK,
        "io.aiven.kafka.connect.opensearch.OpensearchSinkConnector",
        "connectors.elasticsearch.sink:OpenSearchSinkConnector",
        "io.aiven.kafka.connect.opensearch.OpensearchSinkTask",
    ),
    *(
        (
            PluginKind.SOURCE,
            f"org.apache.kafka.connect.mirror.Mirror{what}Connector",
            f"connectors.mirror:Mirror{what}Connector",
            f"org.apache.kafka.connect.mirror.Mirror{what}Task",
        )
        for what in ("Source", "Checkpoint", "Heartbeat")
    ),
    (
        PluginKind.SOURCE,
        "com.github.jcustenborder.kafka.connect.twitter.TwitterSourceConnector",
        "connectors.twitter:TwitterSourceConnector",
        "com.github.jcustenborder.kafka.connect.twitter.TwitterSourceTask",
    ),
    (
        PluginKind.SOURCE,
        "com.github.dariobalinzo.ElasticSourceConnector",
        "connectors.elasticsearch.source:ElasticsearchSourceConnector",
        "com.github.dariobalinzo.task.ElasticSourceTask",
    ),
]

#: What the same connectors are called in other projects of theirs, or by us.
_OTHER_NAMES = {
    "com.github.dariobalinzo.ElasticSourceConnector": ("ElasticsearchSourceConnector", "ElasticsearchSource"),
    "io.confluent.kafka.connect.datagen.DatagenConnector": ("DatagenSourceConnector", "DatagenSource"),
    "io.debezium.connector.postgresql.PostgresConnector": (
        "PostgresCdcSourceConnector",
        "PostgresCdcSource",
        "PostgresCdc",
    ),
    "io.confluent.connect.elasticsearch.ElasticsearchSinkConnector": (
        "io.aiven.connect.elasticsearch.ElasticsearchSinkConnector",
    ),
    "io.aiven.kafka.connect.opensearch.OpensearchSinkConnector": (
        "io.aiven.kafka.connect.opensearch.OpenSearchSinkConnector",
        "OpenSearchSinkConnector",
        "OpenSearchSink",
    ),
    "io.confluent.connect.s3.source.S3SourceConnector": (
        "io.aiven.kafka.connect.s3.source.S3SourceConnector",
        "io.aiven.kafka.connect.s3.S3SourceConnector",
    ),
    "io.confluent.connect.s3.S3SinkConnector": (
        "io.aiven.kafka.connect.s3.AivenKafkaConnectS3SinkConnector",
        "io.aiven.kafka.connect.s3.S3SinkConnector",
    ),
    "io.confluent.connect.jdbc.JdbcSourceConnector": ("io.aiven.connect.jdbc.JdbcSourceConnector",),
    "io.confluent.connect.jdbc.JdbcSinkConnector": (
        "io.aiven.connect.jdbc.JdbcSinkConnector",
        "io.debezium.connector.jdbc.JdbcSinkConnector",
    ),
}

#: Connectors that no Java class is the model of: what they are, where, and what they are called beside that.
_OUR_CONNECTORS = [
    (
        PluginKind.SINK,
        "spark_sink.sink.connector:SparkSinkConnector",
        (
            "DeltaSinkConnector",
            "DeltaSink",
            "DeltaLakeSinkConnector",
            "DeltaLakeSink",
            "SparkDeltaSinkConnector",
            "SparkDeltaSink",
            # Others' sinks for the same tables; their keys are understood where they mean the same.
            "io.confluent.connect.databricks.deltalake.DatabricksDeltaLakeSinkConnector",
            "DatabricksDeltaLakeSinkConnector",
            "DatabricksDeltaLakeSink",
        ),
    ),
    (
        PluginKind.SOURCE,
        "connectors.elasticsearch.source:OpenSearchSourceConnector",
        ("OpenSearchSource", "OpenSearchSourceConnector"),
    ),
    (
        PluginKind.SOURCE,
        "spark_sink.source.connectors:DeltaSourceConnector",
        ("DeltaLakeSourceConnector", "DeltaLakeSource"),
    ),
    (
        PluginKind.SOURCE,
        "spark_sink.source.connectors:SparkSourceConnector",
        ("SparkSqlSourceConnector", "SparkSqlSource"),
    ),
]

_CONVERTERS = [
    "storage.StringConverter",
    "json.JsonConverter",
    "converters.ByteArrayConverter",
    "converters.BooleanConverter",
    "converters.ShortConverter",
    "converters.IntegerConverter",
    "converters.LongConverter",
    "converters.FloatConverter",
    "converters.DoubleConverter",
]

_TRANSFORMS = "org.apache.kafka.connect.transforms"
_TRANSFORMATIONS = [
    *(
        (f"{_TRANSFORMS}.{name}${part}", f"transforms.{module}:{name}{part}")
        for name, module in [
            ("Cast", "cast"),
            ("ExtractField", "extract_field"),
            ("Flatten", "flatten"),
            ("HeaderFrom", "header_from"),
            ("HoistField", "hoist_field"),
            ("InsertField", "insert_field"),
            ("MaskField", "mask_field"),
            ("ReplaceField", "replace_field"),
            ("SetSchemaMetadata", "set_schema_metadata"),
            ("TimestampConverter", "timestamp_converter"),
        ]
        for part in ("Key", "Value")
    ),
    (f"{_TRANSFORMS}.DropHeaders", "transforms.headers:DropHeaders"),
    (f"{_TRANSFORMS}.Filter", "transforms.filter:Filter"),
    (f"{_TRANSFORMS}.InsertHeader", "transforms.headers:InsertHeader"),
    (f"{_TRANSFORMS}.RegexRouter", "transforms.regex_router:RegexRouter"),
    (f"{_TRANSFORMS}.ValueToKey", "transforms.value_to_key:ValueToKey"),
    (f"{_TRANSFORMS}.TimestampRouter", "transforms.timestamp_router:TimestampRouter"),
]

_PREDICATES = ["HasHeaderKey", "RecordIsTombstone", "TopicNameMatches"]

#: Those that Kafka Connect does not have: Debezium's under its name there, ours under the place of their module.
_BEYOND_KAFKA_CONNECT = [
    ("io.debezium.transforms.ExtractNewRecordState", "transforms.extract_new_record_state:ExtractNewRecordState"),
    ("transforms.deduplicate.Deduplicate", "transforms.deduplicate:Deduplicate"),
    ("transforms.expression.Expression", "transforms.expression:Expression"),
    *(
        (f"transforms.{module}.{name}${part}", f"transforms.{module}:{name}{part}")
        for module, name in [("json_to_structure", "JsonToStructure"), ("schema_contract", "SchemaContract")]
        for part in ("Key", "Value")
    ),
]

#: Converters whose schemas are in a schema registry.
_REGISTRY_CONVERTERS = [
    ("io.confluent.connect.avro.AvroConverter", "connect.converters.avro:AvroConverter"),
    ("io.confluent.connect.json.JsonSchemaConverter", "connect.converters.jsonschema:JsonSchemaConverter"),
    ("io.confluent.connect.protobuf.ProtobufConverter", "connect.converters.protobuf:ProtobufConverter"),
]

_OTHERS = [
    *((PluginKind.TRANSFORMATION, name, target) for name, target in _TRANSFORMATIONS),
    *(
        (PluginKind.PREDICATE, f"{_TRANSFORMS}.predicates.{name}", f"transforms.predicates:{name}")
        for name in _PREDICATES
    ),
    *((PluginKind.CONVERTER, name, target) for name, target in _REGISTRY_CONVERTERS),
    *((PluginKind.TRANSFORMATION, name, target) for name, target in _BEYOND_KAFKA_CONNECT),
    # Each converter takes headers as well, as in Java.
    *(
        (kind, f"org.apache.kafka.connect.{name}", f"connect.converters:{name.partition('.')[2]}")
        for kind, names in (
            (PluginKind.CONVERTER, _CONVERTERS),
            (PluginKind.HEADER_CONVERTER, ["storage.SimpleHeaderConverter", *_CONVERTERS]),
        )
        for name in names
    ),
    (PluginKind.CONFIG_PROVIDER, f"{_PROVIDER}.FileConfigProvider", "connect.settings.providers:FileConfigProvider"),
    (
        PluginKind.CONFIG_PROVIDER,
        f"{_PROVIDER}.DirectoryConfigProvider",
        "connect.settings.providers:DirectoryConfigProvider",
    ),
    (
        PluginKind.CONFIG_PROVIDER,
        f"{_PROVIDER}.EnvVarConfigProvider",
        "connect.settings.providers:EnvVarConfigProvider",
    ),
    (
        PluginKind.OVERRIDE_POLICY,
        f"{_POLICY}.AllConnectorClientConfigOverridePolicy",
        "connect.api.policy:AllOverrides",
    ),
    (
        PluginKind.OVERRIDE_POLICY,
        f"{_POLICY}.NoneConnectorClientConfigOverridePolicy",
        "connect.api.policy:NoOverrides",
    ),
    (
        PluginKind.OVERRIDE_POLICY,
        f"{_POLICY}.PrincipalConnectorClientConfigOverridePolicy",
        "connect.api.policy:PrincipalOverrides",
    ),
    (
        PluginKind.OVERRIDE_POLICY,
        f"{_POLICY}.AllowlistConnectorClientConfigOverridePolicy",
        "connect.api.policy:AllowlistOverrides",
    ),
]


def _ref(kind: PluginKind, name: str, target: str, task: str | None = None, more: tuple[str, ...] = ()) -> PluginRef:
    names = (*more, *aliases(name, kind))
    return PluginRef(name=name, kind=kind, target=target, aliases=names, version=__version__, task=task)


BUILT_IN: tuple[PluginRef, ...] = tuple(
    [_ref(kind, name, target, task, _OTHER_NAMES.get(name, ())) for kind, name, target, task in _CONNECTORS]
    + [_ref(kind, target.replace(":", "."), target, more=more) for kind, target, more in _OUR_CONNECTORS]
    + [_ref(kind, name, target) for kind, name, target in _OTHERS]
)
