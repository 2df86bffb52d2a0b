"""The options of writing by `format("connect")`: into a topic, or through a sink connector."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

from connect import settings
from connect.errors import ConfigError
from connect.plugins import PluginKind
from spark_sink.connector_sink.plan import FlushOptions, WritePlan
from spark_sink.frames.connectors import CONNECTOR, SPARKS, WORKER, configured
from spark_sink.frames.options import (
    BYTE_ARRAYS,
    CLIENT_KEYS,
    CONNECT_KEYS,
    advice,
    refuse_misspelt,
    with_small_aliases,
)
from spark_sink.frames.records import ADDED, BYTES, KEY, TOPIC, FrameShape
from spark_sink.frames.sink_rows import FrameRows
from spark_sink.source.clients import SourceClients
from spark_sink.source.writing import OutputPlan
from spark_sink.source.writing import WritePlan as TopicPlan

_VALUE_CONVERTER: Final = "value.converter"


class FrameWriteOptions(settings.Options):
    """How rows become records. Kafka Connect's keys of converters, transformations and errors are allowed too."""

    topic = settings.String(
        "topic",
        default="",
        importance="HIGH",
        doc="The topic of the records; a sink connector names its table, index or file after it. Without it the column "
        "_topic (of bytes: topic) has the name for each row.",
    )
    key_fields = settings.List(
        "key.fields",
        default=[],
        doc="Columns that make the key, a struct of them, in place of the column _key.",
    )
    connector = settings.String(
        CONNECTOR,
        default=None,
        importance="HIGH",
        doc="A sink connector, to which the rows go; its keys are options as well. Without it they go to the topic.",
    )


class Writing:
    """The options of one `save` or `start`, checked against the rows.

    Args:
        given: as Spark passes them, keys in lower case.
        columns: of the DataFrame.

    Raises:
        ConfigError: an option is unknown, missing or wrong.
    """

    def __init__(self, given: Mapping[str, str], columns: Sequence[str]) -> None:
        own = {setting.name for setting in FrameWriteOptions.definition()}
        self._options = FrameWriteOptions.parse({key: value for key, value in given.items() if key in own})
        self._given = {key: value for key, value in with_small_aliases(given).items() if key not in SPARKS}
        self._columns = tuple(columns)
        self.connector = self._options.connector
        if not self.connector:
            self._check_names(own)

    def _check_names(self, own: set[str]) -> None:
        for key in self._given:
            if key not in own and not any(keys.fullmatch(key) for keys in (CONNECT_KEYS, CLIENT_KEYS, _CREATION)):
                raise ConfigError(key, f"is not an option of writing. {advice(key, own)}")
        if "bootstrap.servers" not in self._given:
            raise ConfigError("bootstrap.servers", "is missing: the brokers, as in localhost:9092.")

    def shape(self) -> FrameShape:
        """How a row becomes a record.

        Raises:
            ConfigError: columns are missing.
        """
        options, columns = self._options, self._columns
        is_bytes = not self.connector and _VALUE_CONVERTER not in self._given
        if is_bytes:
            self._check_bytes()
            value: tuple[str, ...] = ()
        else:
            value = tuple(name for name in columns if name not in ADDED)
        for name in options.key_fields:
            if name not in value:
                raise ConfigError("key.fields", f'there is no column "{name}". There are: {", ".join(columns)}.')
        if not is_bytes and not value:
            raise ConfigError(_VALUE_CONVERTER, f"there is no column but {', '.join(columns)}: nothing makes a value.")
        topic = "topic" if is_bytes else TOPIC
        if not options.topic and topic not in columns:
            raise ConfigError("topic", f'is missing. Set it, or give the DataFrame a column "{topic}".')
        known = tuple(name for name in columns if not is_bytes or name in BYTES)
        return FrameShape(options.topic, tuple(options.key_fields), value, (), {}, known, is_bytes)

    def _check_bytes(self) -> None:
        if "value" not in self._columns:
            raise ConfigError(
                _VALUE_CONVERTER,
                "is missing: it makes bytes of the columns. Without it a row is a record as bytes, with a column "
                '"value", and "key", "headers" and "timestamp" where they are wanted.',
            )
        for key in self._given:
            if (CONNECT_KEYS.fullmatch(key) and not key.startswith("producer.")) or key == "key.fields":
                raise ConfigError(key, "needs value.converter: without it, keys and values are bytes.")

    def topic_plan(self) -> TopicPlan:
        """How records are written to topics. Raises ConfigError."""
        shape = self.shape()
        bytes_as_they_are = {f"{part}.converter": BYTE_ARRAYS for part in ("value", "header")} if shape.is_bytes else {}
        worker = {"key.converter": BYTE_ARRAYS, **_chosen(self._given, CLIENT_KEYS)}
        config = {key: value for key, value in self._given.items() if not CLIENT_KEYS.fullmatch(key)}
        if not shape.is_bytes and KEY in self._columns and "key.converter" not in config and not shape.key:
            raise ConfigError("key.converter", 'is missing: the column "_key" needs one. Or drop the column.')
        if shape.key and "key.converter" not in config:
            raise ConfigError("key.converter", "is missing: key.fields need one.")
        refuse_misspelt(worker, config, "source")
        clients = SourceClients("spark", worker, {"name": "spark", **config, **bytes_as_they_are})
        return TopicPlan(shape, OutputPlan(clients))

    def sink_plan(self, *, stream: bool) -> WritePlan:
        """How a sink connector writes the rows: its configuration is validated, and its task's is created.

        Raises:
            ConfigError: a key is wrong.
            ConnectError: the connector does not start.
        """
        shape = self.shape()
        for key in self._given:
            if key.startswith(("errors.deadletterqueue.", "errors.retry.topics")) or ".converter" in key:
                raise ConfigError(key, "is for records that come from Kafka. Remove it: rows are not bytes.")
        named = {key: value for key, value in self._given.items() if key not in {"topic", "key.fields"}}
        config = {"name": "spark", "tasks.max": "1", "topics": shape.topic or TOPIC, **named}
        made = configured(config, PluginKind.SINK)
        return WritePlan(
            connector=config["name"],
            task=made.task,
            folder=made.folder,
            task_config=made.config,
            connector_config=config,
            worker_config=WORKER,
            flush_within=FlushOptions.parse(config).flush_within,
            rows=FrameRows(shape, "" if stream else uuid.uuid4().hex),
        )


_CREATION: Final = re.compile(r"topic\.creation\..+")


def _chosen(given: Mapping[str, str], keys: Any) -> dict[str, str]:
    return {key: value for key, value in given.items() if keys.fullmatch(key)}
