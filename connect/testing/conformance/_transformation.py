"""Checks of transformations."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar

from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from connect.api.plugin import Plugin
from connect.api.transformation import Transformation
from connect.data.batch import Batch, SinkBatch, SourceBatch
from connect.data.column import NoArrowForm
from connect.data.headers import Header, Headers
from connect.data.record import Record, SinkRecord, SourceRecord
from connect.data.schema import Schema, Type
from connect.data.struct_columns import StructColumns
from connect.data.values import GroupedValues, Text, Values
from connect.testing.conformance._plugin import PluginConformance
from connect.testing.conformance._values import SchemaAndValue, any_values, typed

_headers = st.sampled_from([Headers(), Headers([Header("h", "x"), Header("h", 2)])])


class TransformationConformance(PluginConformance):
    """Checks of a transformation, with records from hypothesis.

    Attributes:
        transformation: the class under test.
        examples: the number of batches of each check.
    """

    transformation: ClassVar[type[Transformation]]
    examples: ClassVar[int] = 50

    def config(self) -> dict[str, str]:
        """A configuration that works."""
        return {}

    def values(self) -> st.SearchStrategy[SchemaAndValue]:
        """Pairs of schema and value for keys and values. Values that it refuses, by raising, are welcome among them."""
        return any_values()

    def plugin(self) -> type[Plugin]:
        return self.transformation

    def test_a_batch_gives_what_its_records_give(self) -> None:
        def check(batch: Batch[Any]) -> None:
            expected = self._one_by_one(batch)
            got = self._at_once(batch)
            if expected is None or got is None:
                refuses = "apply" if expected is None else "apply_batch"
                assert expected is got, f"only {refuses} refuses one of these records"
                return
            assert [_columns(record) for record in got] == [_columns(r) for r in expected if r is not None]

        self._draw(check)

    def test_the_input_stays_as_it_was(self) -> None:
        def check(batch: Batch[Any]) -> None:
            before = [copy.deepcopy(_columns(record)) for record in batch]
            self._one_by_one(batch)
            assert [_columns(record) for record in batch] == before, "apply changes the record it is given"
            self._at_once(batch)
            fresh = [_columns(record) for record in batch.slice(0, len(batch))._make_records()]
            assert fresh == before, "apply_batch changes the batch it is given"

        self._draw(check)

    def test_the_order_is_kept_and_a_record_gives_at_most_one(self) -> None:
        def check(batch: Batch[Any]) -> None:
            rows = [_row(record) for record in self._at_once(batch) or ()]
            assert rows == sorted(set(rows))

        self._draw(check)

    def test_a_pure_one_depends_on_nothing_but_the_record(self) -> None:
        if not self.transformation.pure:
            return

        def check(batch: Batch[Any]) -> None:
            made = self._new()
            for record in batch:
                results = []
                for one in (made, made, self._new()):
                    try:
                        result = one.apply(record)
                        results.append(None if result is None else _columns(result))
                    except Exception as error:
                        results.append((type(error).__name__,))
                assert results[0] == results[1] == results[2]

        self._draw(check)

    def test_close_does_no_harm_when_called_twice(self) -> None:
        made = self._new()
        made.close()
        made.close()

    def _new(self) -> Transformation:
        made = self.transformation()
        made.configure(made.settings.parse(self.config()))
        return made

    def _one_by_one(self, batch: Batch[Any]) -> list[Any] | None:
        """The result of `apply` for each record; None when it refuses one of them."""
        made = self._new()
        try:
            return [made.apply(record) for record in batch]
        except Exception:
            return None
        finally:
            made.close()

    def _at_once(self, batch: Batch[Any]) -> list[Any] | None:
        """The result of `apply_batch`; None when it refuses one of them."""
        made = self._new()
        try:
            return list(made.apply_batch(batch))
        except Exception:
            return None
        finally:
            made.close()

    def _draw(self, check: Any) -> None:
        rows = st.tuples(self.values(), self.values(), _headers, st.booleans())
        batches = st.lists(rows, max_size=5).flatmap(_batches)
        limits = hypothesis_settings(
            max_examples=self.examples, deadline=None, suppress_health_check=[HealthCheck.too_slow]
        )
        limits(given(batches)(check))()


def _batches(rows: list[Any]) -> st.SearchStrategy[Batch[Any]]:
    """Batches of these records: consumed or read; values as objects, as text in bytes, or as structs by columns."""
    sink = SinkBatch.of(
        SinkRecord(
            f"topic{other:d}", value, schema, key, key_schema, int(other), number, 1_700_000_000_000, headers=headers
        )
        for number, ((schema, value), (key_schema, key), headers, other) in enumerate(rows)
    )
    source = SourceBatch.of(
        SourceRecord(
            f"topic{other:d}", value, schema, key, key_schema, {"file": f"{other:d}"}, {"row": number}, headers=headers
        )
        for number, ((schema, value), (key_schema, key), headers, other) in enumerate(rows)
    )
    return st.sampled_from([form(batch) for batch in (sink, source) for form in (_as_it_is, _as_text, _as_columns)])


def _as_it_is(batch: Any) -> Any:
    return batch


def _as_text(batch: Any) -> Any:
    values = batch.values
    if not len(batch) or not values.schemas.constant or values.schema is None or values.schema.type is not Type.STRING:
        return batch
    return batch.with_columns(values=Text([None if v is None else v.encode() for v in values], values.schema))


def _as_columns(batch: Any) -> Any:
    return batch.with_columns(keys=_by_columns(batch.keys), values=_by_columns(batch.values))


def _by_columns(values: Values) -> Values:
    """Structs of a schema held field by field, in Arrow where there is an Arrow form; the others beside them."""
    groups: list[tuple[Sequence[int], Values]] = []
    for rows, group in values.groups():
        schema, items = group.schemas[0], group.to_list()
        structs = [place for place, item in enumerate(items) if item is not None]
        others = [place for place, item in enumerate(items) if item is None]
        if schema is None or schema.type is not Type.STRUCT or not schema.fields:
            others = list(range(len(items)))
        elif structs:
            columns = [_column(f.schema, [items[place].get(f.name) for place in structs]) for f in schema.fields]
            groups.append(([rows[place] for place in structs], StructColumns(schema, columns)))
        if others:
            groups.append(([rows[place] for place in others], group.take(others)))
    return GroupedValues(len(values), groups)


def _column(schema: Schema, items: list[Any]) -> Any:
    try:
        from connect.data.arrow import from_python

        return from_python(schema, items)
    except (NoArrowForm, ImportError):
        return items


def _columns(record: Record) -> tuple[Any, ...]:
    """The whole content of a record, in a form that distinguishes types."""
    place: tuple[Any, ...]
    if isinstance(record, SinkRecord):
        place = (record.original_topic, record.original_partition, record.original_offset, record.timestamp_type)
    else:
        place = (dict(record.source_partition), dict(record.source_offset))
    return (
        record.topic,
        record.partition,
        record.key_schema,
        typed(record.key),
        record.value_schema,
        typed(record.value),
        record.timestamp,
        [(header.key, typed(header.value), header.schema) for header in record.headers],
        place,
    )


def _row(record: Record) -> int:
    return record.original_offset if isinstance(record, SinkRecord) else int(record.source_offset["row"])
