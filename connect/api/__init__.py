"""What a plug-in is: the classes that authors extend and the contexts that the runtime gives them."""

from connect.api.connector import Connector, ConnectorContext, ExactlyOnceSupport, SinkConnector, SourceConnector
from connect.api.converter import Converter, HeaderConverter, SchemaAndValue
from connect.api.metrics import PluginMetrics
from connect.api.plugin import Configurable, Plugin
from connect.api.policy import ClientConfigOverridePolicy, ClientConfigRequest
from connect.api.sink import ErrantRecordReporter, Offsets, SinkTask, SinkTaskContext
from connect.api.source import RecordMetadata, SourceTask, SourceTaskContext, TransactionContext
from connect.api.splits import ReadPlan, Split, SplitSourceTask
from connect.api.transformation import Predicate, StoppedAt, Transformation

__all__ = [
    "ClientConfigOverridePolicy",
    "ClientConfigRequest",
    "Configurable",
    "Connector",
    "ConnectorContext",
    "Converter",
    "ErrantRecordReporter",
    "ExactlyOnceSupport",
    "HeaderConverter",
    "Offsets",
    "Plugin",
    "PluginMetrics",
    "Predicate",
    "ReadPlan",
    "RecordMetadata",
    "SchemaAndValue",
    "SinkConnector",
    "SinkTask",
    "SinkTaskContext",
    "SourceConnector",
    "SourceTask",
    "SourceTaskContext",
    "Split",
    "SplitSourceTask",
    "StoppedAt",
    "TransactionContext",
    "Transformation",
]
