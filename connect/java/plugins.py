"""Python classes that stand for Java's, for connector hosts and validation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any, ClassVar, Final

from connect.api import ExactlyOnceSupport, SinkConnector, SourceConnector
from connect.api.engine import JAVA_ENGINE, WORKER
from connect.data.record import TopicPartition
from connect.java import jvm
from connect.java.crossing.plugins import JavaConverter, JavaHeaderConverter, JavaPredicate, JavaTransformation
from connect.java.crossing.tasks import JavaSinkTask, JavaSourceTask
from connect.java.offsets import offset_reader
from connect.java.options import PROCESS_SETTINGS, start_jvm
from connect.java.settings import values_of
from connect.java.stand_in import StandIn
from connect.settings import ConfigValue


class _JavaConnector(StandIn):
    """A connector: every call goes to Java's object, with its class loader on this thread."""

    engines: ClassVar[tuple[str, ...]] = (JAVA_ENGINE, WORKER)
    process_settings = PROCESS_SETTINGS
    context: Any
    _task: ClassVar[type[Any]]

    def __init__(self) -> None:
        self._java: Any = None

    @classmethod
    def begin_process(cls, config: Mapping[str, str]) -> None:
        start_jvm(config)

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        found: list[ConfigValue] = self._call(
            "validate", lambda made: values_of(made, config, f"{self.java_class}.validate")
        )
        return found

    def start(self, config: Mapping[str, str]) -> None:
        self._java = self.make()
        self._call("initialize", lambda made: made.initialize(self._context()))
        self._call("start", lambda made: made.start(jvm.to_map(config)))

    def task_class(self) -> type[Any]:
        """A class with the name of Java's task class. The engine `java` runs its tasks without it."""
        found = self._call("taskClass", lambda made: made.taskClass())
        module, _, name = str(found.getName()).rpartition(".")
        named = {"__module__": module, "__qualname__": name, "__doc__": None}
        return type(
            name, (self._task,), {**named, "java_class": found, "connector": self.java_class, "folder": self.folder}
        )

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        configs = self._call("taskConfigs", lambda made: made.taskConfigs(jvm.java("int")(max_tasks)))
        entries = [[(entry.getKey(), entry.getValue()) for entry in each.entrySet()] for each in configs or ()]
        return [{str(key): str(value) for key, value in each if value is not None} for each in entries]

    def stop(self) -> None:
        self._call("stop", lambda made: made.stop())

    def _call(self, name: str, call: Any, *, plain: bool = False) -> Any:
        """Call a method of Java's connector. `plain`: see `jvm.as_error`."""
        with self.class_loader():
            made = self._java or self.make()
            return jvm.translated(lambda: call(made), f"{self.java_class}.{name}", plain=plain)

    @cached_property
    def _measures(self) -> Any:
        """Java's PluginMetrics, for a connector that asks for it."""
        made = jvm.plugin_metrics(connector=self.context.name)
        self.context.exit_stack.callback(made.close)
        return made

    def _context(self) -> Any:
        return jvm.proxy("org.apache.kafka.connect.connector.ConnectorContext", self._offers())

    def _offers(self) -> dict[str, Any]:
        def raise_error(error: Any) -> None:
            self.context.raise_error(jvm.as_error(error, f"{self.java_class} fails"))

        return {
            "requestTaskReconfiguration": self.context.request_task_reconfiguration,
            "raiseError": raise_error,
            "pluginMetrics": lambda: self._measures,
        }


class JavaSourceConnector(_JavaConnector, SourceConnector):
    """A source connector of Java."""

    _task = JavaSourceTask

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport | None:
        said = self._call("exactlyOnceSupport", lambda made: made.exactlyOnceSupport(jvm.to_map(config)))
        return None if said is None else ExactlyOnceSupport(str(said.name()))

    def can_define_transaction_boundaries(self, config: Mapping[str, str]) -> bool:
        said = self._call("canDefine", lambda made: made.canDefineTransactionBoundaries(jvm.to_map(config)))
        return said is not None and str(said.name()) == "SUPPORTED"

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[Any, Mapping[str, Any] | None]) -> bool:
        changes = jvm.java("java.util.HashMap")()
        for partition, offset in offsets.items():
            changes.put(jvm.to_map(dict(partition)), None if offset is None else jvm.to_map(offset))
        return bool(self._call("alterOffsets", lambda made: made.alterOffsets(jvm.to_map(config), changes), plain=True))

    def _context(self) -> Any:
        reader = offset_reader(lambda partitions: [self.context.offset(each) for each in partitions])
        offers = {**self._offers(), "offsetStorageReader": lambda: reader}
        return jvm.proxy("org.apache.kafka.connect.source.SourceConnectorContext", offers)


class JavaSinkConnector(_JavaConnector, SinkConnector):
    """A sink connector of Java."""

    _task = JavaSinkTask

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        changes = jvm.java("java.util.HashMap")()
        for partition, offset in offsets.items():
            place = jvm.java("org.apache.kafka.common.TopicPartition")(partition.topic, partition.partition)
            changes.put(place, None if offset is None else jvm.java("java.lang.Long")(offset))
        return bool(self._call("alterOffsets", lambda made: made.alterOffsets(jvm.to_map(config), changes), plain=True))

    def _context(self) -> Any:
        return jvm.proxy("org.apache.kafka.connect.sink.SinkConnectorContext", self._offers())


_BASES: Final[Mapping[str, type[Any]]] = {
    "source": JavaSourceConnector,
    "sink": JavaSinkConnector,
    "converter": JavaConverter,
    "header_converter": JavaHeaderConverter,
    "transformation": JavaTransformation,
    "predicate": JavaPredicate,
}


@cache
def stand_in(kind: str, name: str, folder: str | None) -> type[Any]:
    """The Python class that stands for a Java class. Java is started on its first use.

    Args:
        kind: a value of `PluginKind`.
        name: its full name in Java.
        folder: of its plug-in: a jar, or a folder of jars; None for the runtime's own jars.
    """
    module, _, simple = name.rpartition(".")
    attributes = {"java_class": name, "folder": folder, "__module__": module, "__qualname__": simple, "__doc__": None}
    made: type[Any] = type(simple, (_BASES[kind],), attributes)
    return made
