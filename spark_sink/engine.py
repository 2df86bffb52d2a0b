"""The Spark engine as the runtime knows it (see `connect.api.engine`). Only tasks import Spark."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar, Final

from connect.api import SinkConnector
from connect.api.engine import WORKER, Engine, EngineTask
from connect.api.splits import SplitSourceTask
from connect.errors import ConfigError
from spark_sink.connector_sink.plan import FlushOptions
from spark_sink.query.settings import QueryOptions
from spark_sink.session.settings import SessionOptions

#: The task of a sink connector that says nothing else by its attribute `spark_task`, "module:Class".
_ANY_SINK: Final = "spark_sink.query.connector_sink_task:ConnectorSinkTask"
#: The same for sources whose tasks are `SplitSourceTask`.
_ANY_SOURCE: Final = "spark_sink.connector_source.task:ConnectorSourceTask"
#: Of the keys of queries, those that sources know.
_OF_SOURCES: Final = ("trigger",)


class SparkEngine(Engine):
    """Runs sink connectors, sources that can be split, and those that are made for it."""

    name = "spark"
    settings: ClassVar = QueryOptions.definition() | FlushOptions.definition() | SessionOptions.definition()

    def task(self, connector: type[Any]) -> EngineTask:
        module, _, name = _task_of(connector).partition(":")
        task: EngineTask = getattr(import_module(module), name)()
        return task

    def check(self, connector: type[Any], config: Mapping[str, str]) -> list[tuple[str, str]]:
        problems = []
        if find_spec("pyspark") is None:
            other = ", or write engine=worker." if WORKER in getattr(connector, "engines", ()) else "."
            problems.append(("engine", f"spark needs Spark. Install it: pip install 'connect-runtime[spark]'{other}"))
        if (config.get("errors.retry.topics") or "").strip():
            problems.append(("errors.retry.topics", "is not there on Spark. Leave it out, or set engine=worker."))
        if _task_of(connector) == _ANY_SOURCE:
            of_sinks = [*QueryOptions.definition(), *FlushOptions.definition()]
            unknown = {each.name for each in of_sinks} - set(_OF_SOURCES)
            problems += [
                (key, "is for sinks on Spark: a source plans its batches itself. Leave it out.")
                for key in config
                if key in unknown and key not in connector.settings
            ]
        return problems

    def knows(self, key: str) -> bool:
        return key.startswith("spark.")


def _task_of(connector: type[Any]) -> str:
    named = getattr(connector, "spark_task", None)
    if named is not None:
        return str(named)
    if issubclass(connector, SinkConnector):
        return _ANY_SINK
    if isinstance(connector.task, type) and issubclass(connector.task, SplitSourceTask):
        return _ANY_SOURCE
    raise ConfigError("engine", f"{connector.__name__} does not run on Spark. Write worker.")
