"""The steps of a chain: converting keys, values and headers, both ways, and transformations with their predicates."""

from __future__ import annotations

from functools import partial
from typing import Any, Generic, TypeVar

from connect.api.converter import Converter, HeaderConverter
from connect.api.transformation import Predicate, StoppedAt, Transformation
from connect.data.batch import Batch
from connect.data.column import Column, Constant, Deferred, Plain
from connect.data.headers import NO_HEADERS, Headers
from connect.data.values import DeferredValues, Values
from connect.pipeline.failure import Stage
from connect.plugins import name_of

B = TypeVar("B", bound=Batch[Any])
C = TypeVar("C", bound=Converter | HeaderConverter)


class _Converting(Generic[C]):
    """A step of a converter."""

    apply_one = None

    def __init__(self, converter: C, stage: Stage) -> None:
        self.converter = converter
        self.stage = stage
        self.operation = type(converter).__name__
        self.class_name = name_of(type(converter))

    def close(self) -> None:
        self.converter.close()


class Decode(_Converting[Converter]):
    """Bytes of keys or values -> values."""

    def __init__(self, converter: Converter, *, is_key: bool) -> None:
        super().__init__(converter, Stage.KEY_CONVERTER if is_key else Stage.VALUE_CONVERTER)
        self._column = "keys" if is_key else "values"
        self._lazy = is_key and converter.never_fails  # many a sink never looks at keys

    def run(self, batch: B) -> B:
        data: Values = getattr(batch, self._column)
        topics = batch.topics
        if self._lazy:
            make = partial(self._decode, topics, data)
            return batch.with_columns(keys=DeferredValues(len(data), make))
        # Headers are still as they lie in Kafka: they are converted after keys and values.
        headers: Column[Any] = batch.headers
        values = self.converter.to_connect_batch_with_headers(topics, data.to_list(), headers)
        return batch.with_columns(**{self._column: values})

    def _decode(self, topics: Column[str], data: Values) -> Values:
        return self.converter.to_connect_batch(topics, data.to_list())


class Encode(_Converting[Converter]):
    """Values of keys or values -> bytes."""

    def __init__(self, converter: Converter, *, is_key: bool) -> None:
        super().__init__(converter, Stage.KEY_CONVERTER if is_key else Stage.VALUE_CONVERTER)
        self._column = "keys" if is_key else "values"

    def run(self, batch: B) -> B:
        values: Values = getattr(batch, self._column)
        raw: Column[Any] = batch.headers  # they are converted before keys and values
        data, headers = self.converter.from_connect_batch_with_headers(batch.topics, values, raw)
        changed: dict[str, Column[Any]] = {self._column: Values.raw(data)}
        if headers is not raw:
            changed["headers"] = headers
        return batch.with_columns(**changed)


class DecodeHeaders(_Converting[HeaderConverter]):
    """Bytes of headers -> `Headers`. A converter that never fails is called only when headers are used."""

    def __init__(self, converter: HeaderConverter) -> None:
        super().__init__(converter, Stage.HEADER_CONVERTER)

    def run(self, batch: B) -> B:
        raw: Column[Any] = batch.headers  # RawHeaders or None
        if raw.constant and not (len(raw) and raw[0]):
            return batch.with_columns(headers=Constant(NO_HEADERS, len(batch)))
        if self.converter.never_fails:
            topics = batch.topics
            return batch.with_columns(headers=Deferred(len(batch), lambda: self._decode(topics, raw)))
        return batch.with_columns(headers=Plain(self._decode(batch.topics, raw)))

    def _decode(self, topics: Column[str], raw: Column[Any]) -> list[Headers]:
        return self.converter.to_connect_headers(topics, raw) if any(raw) else [NO_HEADERS] * len(raw)


class EncodeHeaders(_Converting[HeaderConverter]):
    """`Headers` -> pairs of key and bytes, None for a record without any."""

    def __init__(self, converter: HeaderConverter) -> None:
        super().__init__(converter, Stage.HEADER_CONVERTER)

    def run(self, batch: B) -> B:
        headers = batch.headers
        if headers.constant and not (len(headers) and headers[0]):
            return batch.with_columns(headers=Constant(None, len(batch)))
        return batch.with_columns(headers=Plain(self.converter.from_connect_headers(batch.topics, headers)))


class Transform:
    """A transformation, for the records that its predicate selects. `alias` is its name in the configuration."""

    stage = Stage.TRANSFORMATION

    def __init__(
        self,
        transformation: Transformation,
        predicate: Predicate | None = None,
        *,
        negate: bool = False,
        alias: str | None = None,
    ) -> None:
        self.transformation = transformation
        self.predicate = predicate
        self.operation = type(transformation).__name__
        self.class_name = name_of(type(transformation))
        self.alias = alias
        whole = transformation.pure or transformation.resumes
        self.apply_one = None if whole else self._apply_one
        self.negate = negate

    def run(self, batch: B) -> B:
        if self.predicate is None:
            return self.transformation.apply_batch(batch)
        chosen = [test != self.negate for test in self.predicate.test_batch(batch)]
        if all(chosen):
            return self.transformation.apply_batch(batch)
        if not any(chosen):
            return batch
        rows = [row for row, take in enumerate(chosen) if take]
        try:
            changed = self.transformation.apply_batch(batch.take(rows))
        except StoppedAt as stopped:
            row = rows[stopped.row]
            others = batch.take([other for other in range(row) if not chosen[other]])
            raise StoppedAt(row, _in_order(stopped.done, others), stopped.error) from None
        return _in_order(changed, batch.take([row for row, take in enumerate(chosen) if not take]))

    def _apply_one(self, record: Any) -> Any:
        if self.predicate is not None and self.predicate.test(record) == self.negate:
            return record
        made = self.transformation.apply(record)
        if made is not None and not isinstance(made, type(record)):
            raise TypeError(f"A transformation returns a record, or None to drop it; here is a {type(made).__name__}.")
        return made

    def close(self) -> None:
        self.transformation.close()
        if self.predicate is not None:
            self.predicate.close()


def _in_order(some: B, others: B) -> B:
    """Two parts of one batch merged again; some rows may have been dropped from the first."""
    if not (len(some) and len(others)):
        return some if len(some) else others
    index = {row: index for index, row in enumerate(sorted([*some.rows, *others.rows]))}
    return type(some).interleave([([index[row] for row in part.rows], part) for part in (some, others)])
