"""The plug-ins that come with the runtime, by the names that they have in Java. A table: nothing is imported."""

from __future__ import annotations

from connect import __version__
from connect.plugins.ref import PluginKind, PluginRef, aliases

_PROVIDER = "org.apache.kafka.common.config.provider"
_POLICY = "org.apache.kafka.connect.connector.policy"

_SOURCES = {
    "org.apache.kafka.connect.file.FileStreamSourceConnector": "connectors.file:FileStreamSourceConnector",
    "io.confluent.connect.jdbc.JdbcSourceConnector": "connectors.jdbc.source:JdbcSourceConnector",
    "io.confluent.connect.s3.source.S3SourceConnector": "connectors.s3.source:S3SourceConnector",
    "io.debezium.connector.postgresql.PostgresConnector": "connectors.jdbc.capture:PostgresCdcSourceConnector",
    "io.debezium.connector.mysql.MySqlConnector": "connectors.jdbc.mysql_capture:MySqlCdcSourceConnector",
    "io.debezium.connector.mariadb.MariaDbConnector": "connectors.jdbc.mysql_capture:MariaDbCdcSourceConnector",
    "io.confluent.kafka.connect.datagen.DatagenConnector": "connectors.datagen:DatagenConnector",
    **{
        f"org.apache.kafka.connect.mirror.Mirror{what}Connector": f"connectors.mirror:Mirror{what}Connector"
        for what in ("Source", "Checkpoint", "Heartbeat")
    },
    "com.github.jcustenborder.kafka.connect.twitter.TwitterSourceConnector": (
        "connectors.twitter:TwitterSourceConnector"
    ),
    "com.github.dariobalinzo.ElasticSourceConnector": "connectors.elasticsearch.source:ElasticsearchSourceConnector",
}
_SINKS = {
    "org.apache.kafka.connect.file.FileStreamSinkConnector": "connectors.file:FileStreamSinkConnector",
    "io.confluent.connect.jdbc.JdbcSinkConnector": "connectors.jdbc.sink:JdbcSinkConnector",
    "io.confluent.connect.s3.S3SinkConnector": "connectors.s3.sink:S3SinkConnector",
    "io.confluent.connect.gcs.GcsSinkConnector": "connectors.gcs:GcsSinkConnector",
    "io.confluent.connect.azure.blob.AzureBlobStorageSinkConnector": "connectors.azure:AzureBlobSinkConnector",
    "io.confluent.connect.elasticsearch.ElasticsearchSinkConnector": (
        "connectors.elasticsearch.sink:ElasticsearchSinkConnector"
    ),
    "io.aiven.kafka.connect.opensearch.OpensearchSinkConnector": (
        "connectors.elasticsearch.sink:OpenSearchSinkConnector"
    ),
    "io.aiven.kafka.connect.http.HttpSinkConnector": "connectors.http.sink:HttpSinkConnector",
    "org.apache.iceberg.connect.IcebergSinkConnector": "spark_sink.iceberg.connector:IcebergSinkConnector",
}

#: Java's classes of tasks that are not called like their connectors.
_TASKS = {
    "io.confluent.connect.jdbc.JdbcSourceConnector": "io.confluent.connect.jdbc.source.JdbcSourceTask",
    "io.confluent.connect.jdbc.JdbcSinkConnector": "io.confluent.connect.jdbc.sink.JdbcSinkTask",
    "io.debezium.connector.postgresql.PostgresConnector": "io.debezium.connector.postgresql.PostgresConnectorTask",
    "io.debezium.connector.mysql.MySqlConnector": "io.debezium.connector.mysql.MySqlConnectorTask",
    "io.debezium.connector.mariadb.MariaDbConnector": "io.debezium.connector.mariadb.MariaDbConnectorTask",
    "com.github.dariobalinzo.ElasticSourceConnector": "com.github.dariobalinzo.task.ElasticSourceTask",
}

#: What the same plug-ins are called in other projects of theirs, or by us.
_OTHER_NAMES = {
    "com.github.dariobalinzo.ElasticSourceConnector": ("ElasticsearchSourceConnector", "ElasticsearchSource"),
    "io.confluent.kafka.connect.datagen.DatagenConnector": ("DatagenSourceConnector", "DatagenSource"),
    "io.debezium.connector.postgresql.PostgresConnector": (
        "PostgresCdcSourceConnector",
        "PostgresCdcSource",
        "PostgresCdc",
    ),
    "io.debezium.connector.mysql.MySqlConnector": ("MySqlCdcSourceConnector", "MySqlCdcSource", "MySqlCdc"),
    "io.debezium.connector.mariadb.MariaDbConnector": ("MariaDbCdcSourceConnector", "MariaDbCdcSource", "MariaDbCdc"),
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
    "io.confluent.connect.gcs.GcsSinkConnector": ("io.aiven.kafka.connect.gcs.GcsSinkConnector",),
    "io.confluent.connect.azure.blob.AzureBlobStorageSinkConnector": (
        "io.aiven.kafka.connect.azure.sink.AzureBlobSinkConnector",
        "AzureBlobSinkConnector",
        "AzureBlobSink",
    ),
    "org.apache.iceberg.connect.IcebergSinkConnector": ("io.tabular.iceberg.connect.IcebergSinkConnector",),
    "org.apache.kafka.connect.transforms.RegexRouter": (
        "io.confluent.connect.cloud.transforms.TopicRegexRouter",
        "TopicRegexRouter",
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
    (PluginKind.SOURCE, "connectors.http.source:HttpSourceConnector", ()),
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

_CONFLUENT = "io.confluent.connect.transforms"
_DEBEZIUM = "io.debezium.transforms"

#: Those that Kafka Connect does not have: Confluent's and Debezium's under their names there, ours under the place of
#: their module.
_BEYOND_KAFKA_CONNECT = [
    *(
        (f"{_CONFLUENT}.{name}${part}", f"transforms.{module}:{name}{part}")
        for name, module, parts in [
            ("Drop", "drop", ("Key", "Value")),
            ("ExtractTopic", "extract_topic", ("Key", "Value", "Header")),
            ("GzipDecompress", "gzip_decompress", ("Key", "Value")),
        ]
        for part in parts
    ),
    *((f"{_CONFLUENT}.Filter${part}", f"transforms.filter_by_path:FilterByPath{part}") for part in ("Key", "Value")),
    (f"{_CONFLUENT}.MessageTimestampRouter", "transforms.message_timestamp_router:MessageTimestampRouter"),
    (f"{_CONFLUENT}.TombstoneHandler", "transforms.tombstone_handler:TombstoneHandler"),
    (f"{_DEBEZIUM}.outbox.EventRouter", "transforms.event_router:EventRouter"),
    (f"{_DEBEZIUM}.ContentBasedRouter", "transforms.content_based:ContentBasedRouter"),
    (f"{_DEBEZIUM}.ByLogicalTableRouter", "transforms.logical_router:ByLogicalTableRouter"),
    (f"{_DEBEZIUM}.ToLogicalTopicRouter", "transforms.logical_router:ToLogicalTopicRouter"),
    (f"{_DEBEZIUM}.ExtractNewRecordState", "transforms.extract_new_record_state:ExtractNewRecordState"),
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
    *(
        (PluginKind.CONFIG_PROVIDER, f"{_PROVIDER}.{name}", f"connect.settings.providers:{name}")
        for name in ("FileConfigProvider", "DirectoryConfigProvider", "EnvVarConfigProvider")
    ),
    *(
        (
            PluginKind.OVERRIDE_POLICY,
            f"{_POLICY}.{what}ConnectorClientConfigOverridePolicy",
            f"connect.api.policy:{ours}",
        )
        for what, ours in (
            ("All", "AllOverrides"),
            ("None", "NoOverrides"),
            ("Principal", "PrincipalOverrides"),
            ("Allowlist", "AllowlistOverrides"),
        )
    ),
]


#: Those that Kafka Connect has a transformation of the same short name for, which keeps it.
_NAMESAKES = [
    (f"{_DEBEZIUM}.Filter", "transforms.content_based:FilterByExpression"),
    *(
        (f"{_CONFLUENT}.ReplaceField${part}", f"transforms.replace_field:ReplaceNestedField{part}")
        for part in ("Key", "Value")
    ),
]


def _ref(kind: PluginKind, name: str, target: str, task: str | None = None, more: tuple[str, ...] = ()) -> PluginRef:
    names = (*more, *aliases(name, kind))
    return PluginRef(name=name, kind=kind, target=target, aliases=names, version=__version__, task=task)


def _task(connector: str) -> str:
    return _TASKS.get(connector) or f"{connector.removesuffix('Connector')}Task"


BUILT_IN: tuple[PluginRef, ...] = tuple(
    [
        _ref(kind, name, target, _task(name), _OTHER_NAMES.get(name, ()))
        for kind, connectors in ((PluginKind.SOURCE, _SOURCES), (PluginKind.SINK, _SINKS))
        for name, target in connectors.items()
    ]
    + [_ref(kind, target.replace(":", "."), target, more=more) for kind, target, more in _OUR_CONNECTORS]
    + [_ref(kind, name, target, more=_OTHER_NAMES.get(name, ())) for kind, name, target in _OTHERS]
    + [
        PluginRef(
            name=name,
            kind=PluginKind.TRANSFORMATION,
            target=target,
            aliases=(target.partition(":")[2],),
            version=__version__,
        )
        for name, target in _NAMESAKES
    ]
)
