"""A failed record: where in the pipeline, in which class, with which error; and Kafka Connect's names for these."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, Final

from connect.data.batch import Batch
from connect.data.record import Record
from connect.errors import ConfigError, ConnectError, DataError, PluginNotFoundError, RetriableError


class Stage(enum.Enum):
    """Where in the pipeline a record failed. The names are Kafka Connect's."""

    KEY_CONVERTER = "KEY_CONVERTER"
    VALUE_CONVERTER = "VALUE_CONVERTER"
    HEADER_CONVERTER = "HEADER_CONVERTER"
    TRANSFORMATION = "TRANSFORMATION"
    TASK_PUT = "TASK_PUT"
    KAFKA_PRODUCE = "KAFKA_PRODUCE"

    @property
    def words(self) -> str:
        """The stage in messages."""
        return self.value.lower().replace("_", " ")


@dataclass(frozen=True, slots=True)
class Failure:
    """One record that failed for good.

    Attributes:
        stage: where in the pipeline.
        operation: the class that failed, for messages.
        error: that it raised.
        record: the input of that class.
        batch: the record as a batch of its own, which leads back to what was consumed or polled; None for a record that
            the task made itself.
        class_name: the class by its Java name, if it has one.
    """

    stage: Stage
    operation: str
    error: Exception
    record: Record
    batch: Batch[Any] | None = None
    class_name: str = ""


_EXCEPTIONS: Final = {
    RetriableError: "org.apache.kafka.connect.errors.RetriableException",
    DataError: "org.apache.kafka.connect.errors.DataException",
    ConfigError: "org.apache.kafka.common.config.ConfigException",
    PluginNotFoundError: "org.apache.kafka.connect.errors.ConnectException",
    ConnectError: "org.apache.kafka.connect.errors.ConnectException",
}
_OURS: Final = ("connect.", "connectors.", "transforms.")


def exception_name(error: BaseException) -> str:
    """The name of an exception in a dead letter: Java's if it is one of the runtime's, else Python's."""
    for cls in type(error).__mro__:
        if cls in _EXCEPTIONS:
            return _EXCEPTIONS[cls]
        if not cls.__module__.startswith(_OURS):
            break
    return qualified_name(type(error))


def qualified_name(cls: type[Any]) -> str:
    """A class by module and name; built-in ones by their name alone."""
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
