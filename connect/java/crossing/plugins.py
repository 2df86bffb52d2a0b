"""Java's transformations, predicates and converters in a chain of Python: a batch crosses once each way.

They are configured, called and closed in the process of the task, on its thread, with the class loader of their
plug-in. Java's objects see records of Kafka Connect's own classes. Their errors become errors of this project
(`jvm.as_error`), so that retries and tolerance hold as for a plug-in of Python.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

from connect.api import Converter, HeaderConverter, Predicate, SchemaAndValue, StoppedAt, Transformation
from connect.api.converter import RawHeaders
from connect.data.batch import Batch, SinkBatch, SourceBatch
from connect.data.column import Column, column
from connect.data.headers import Header, Headers
from connect.data.record import SinkRecord
from connect.data.schema import Schema
from connect.data.values import Values
from connect.java import jvm
from connect.java.crossing.classes import crossing
from connect.java.settings import values_by
from connect.java.stand_in import StandIn
from connect.settings import Config, ConfigValue

B = TypeVar("B", bound=Batch[Any])
T = TypeVar("T")
#: Tell the plug-ins of this process apart that measure the same.
_numbers = itertools.count()


@cache
def _batches() -> Any:
    """The module that makes blocks: whoever only validates has no use for pyarrow."""
    from connect.java.crossing import batches

    return batches


class _InTheChain(StandIn):
    """A plug-in of Java in a chain."""

    _java: Any = None
    _measures: Any = None

    @classmethod
    def validated(cls, config: Mapping[str, str]) -> list[ConfigValue]:
        """Java's validation of its keys."""
        with cls.class_loader():
            return values_by(cls.config_def(), config, f"{cls.java_class}.config")

    def close(self) -> None:
        made, self._java = self._java, None
        if made is not None and hasattr(made, "close"):
            self._call("close", made.close)
        if self._measures is not None:
            self._measures.close()

    def _begin(self, configure: Callable[[Any], None]) -> None:
        self._crossing = crossing()
        made = self.make()
        self._call("configure", lambda: configure(made))
        if isinstance(made, jvm.java("org.apache.kafka.common.metrics.Monitorable")):
            measures = self._measures = jvm.plugin_metrics(plugin=self.java_class, number=str(next(_numbers)))
            self._call("withPluginMetrics", lambda: made.withPluginMetrics(measures))
        self._java = made

    def _call(self, name: str, call: Callable[[], T]) -> T:
        with self.class_loader():
            return jvm.translated(call, f"{self.java_class}.{name}")


class JavaTransformation(_InTheChain, Transformation):
    """A transformation of Java. It may have state: a record is given to it once, and again only by a retry."""

    resumes = True

    def configure(self, config: Config) -> None:
        self._begin(lambda made: made.configure(jvm.to_map(config.raw)))

    def apply(self, record: Any) -> Any:
        result = self.apply_batch(_alone(record))
        return result.records()[0] if len(result) else None

    def apply_batch(self, batch: B) -> B:
        block = _batches().of_records(batch)
        outcome = self._call("apply", lambda: self._crossing.transform(self._java, block))
        stopped = int(outcome.stopped)
        done: B = _batches().changed(batch.slice(0, stopped), outcome.bytes)
        if outcome.failure is not None:
            raise StoppedAt(stopped, done, jvm.as_error(outcome.failure, f"{self.java_class}.apply"))
        return done


class JavaPredicate(_InTheChain, Predicate):
    """A predicate of Java."""

    def configure(self, config: Config) -> None:
        self._begin(lambda made: made.configure(jvm.to_map(config.raw)))

    def test(self, record: Any) -> bool:
        return self.test_batch(_alone(record))[0]

    def test_batch(self, batch: Batch[Any]) -> list[bool]:
        block = _batches().of_records(batch)
        said = self._call("test", lambda: self._crossing.test(self._java, block))
        return [bool(each) for each in _batches().read(said)]


class JavaConverter(_InTheChain, Converter):
    """A converter of Java."""

    def configure(self, config: Mapping[str, str], *, is_key: bool) -> None:
        self._begin(lambda made: made.configure(jvm.to_map(config), is_key))

    def to_connect_data(self, topic: str, data: bytes | None, headers: Headers | None = None) -> SchemaAndValue:
        raw: Column[RawHeaders] = column([[(each.key, each.value) for each in headers or ()] or None])
        found = self.to_connect_batch_with_headers(column([topic]), [data], raw)
        return SchemaAndValue(found.schemas[0], found.to_list()[0])

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Headers | None = None
    ) -> bytes | None:
        return self.from_connect_batch(column([topic]), Values([value], schema))[0]

    def to_connect_batch(self, topics: Column[str], data: Sequence[bytes | None]) -> Values:
        return self.to_connect_batch_with_headers(topics, data, column([None] * len(data)))

    def from_connect_batch(self, topics: Column[str], values: Values) -> Sequence[bytes | None]:
        return self.from_connect_batch_with_headers(topics, values, column([None] * len(values)))[0]

    def to_connect_batch_with_headers(
        self, topics: Column[str], data: Sequence[bytes | None], headers: Column[RawHeaders]
    ) -> Values:
        block = _batches().of_data(topics, data, headers)
        found = self._call("toConnectData", lambda: self._crossing.toConnect(self._java, block))
        values: Values = _batches().values(found)
        return values

    def from_connect_batch_with_headers(
        self, topics: Column[str], values: Values, headers: Column[RawHeaders]
    ) -> tuple[Sequence[bytes | None], Column[RawHeaders]]:
        block = _batches().of_values(topics, values, headers)
        made = self._call("fromConnectData", lambda: self._crossing.fromConnect(self._java, block))
        data, changed = _batches().data(made)
        return data, headers if changed is None else changed


class JavaHeaderConverter(_InTheChain, HeaderConverter):
    """A header converter of Java."""

    def configure(self, config: Mapping[str, str]) -> None:
        self._begin(lambda made: made.configure(jvm.to_map(config)))

    def to_connect_header(self, topic: str, key: str, data: bytes | None) -> SchemaAndValue:
        raw: Column[RawHeaders] = column([[(key, data)]])
        (found,) = self.to_connect_headers(column([topic]), raw)[0]
        return SchemaAndValue(found.schema, found.value)

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        (found,) = self.from_connect_headers(column([topic]), column([Headers([Header(key, value, schema)])]))[0] or ()
        return found[1]

    def to_connect_headers(self, topics: Column[str], headers: Column[RawHeaders]) -> list[Headers]:
        block = _batches().of_raw_headers(topics, headers)
        found = self._call("toConnectHeader", lambda: self._crossing.toHeaders(self._java, block))
        converted: list[Headers] = _batches().headers(found).to_list()
        return converted

    def from_connect_headers(self, topics: Column[str], headers: Column[Headers]) -> list[RawHeaders]:
        block = _batches().of_headers(topics, headers)
        made = self._call("fromConnectHeader", lambda: self._crossing.fromHeaders(self._java, block))
        converted: list[RawHeaders] = _batches().raw_headers(made).to_list()
        return converted


def _alone(record: Any) -> Batch[Any]:
    return SinkBatch.of([record]) if isinstance(record, SinkRecord) else SourceBatch.of([record])
