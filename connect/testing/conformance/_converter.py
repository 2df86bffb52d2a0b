"""Checks of converters."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from connect.api.converter import Converter, collect
from connect.api.converter import SchemaAndValue as Row
from connect.api.plugin import Plugin
from connect.data.column import Constant
from connect.data.schema import Schema
from connect.data.values import Values
from connect.errors import DataError
from connect.testing.conformance._plugin import PluginConformance
from connect.testing.conformance._values import SchemaAndValue, any_values, typed

_TOPIC = "conformance"
_ODD: list[SchemaAndValue] = [
    (None, object()),
    (None, {1, 2}),
    (None, {1: object()}),
    (None, 1 << 70),
    (None, [b"\xff"]),
]


class ConverterConformance(PluginConformance):
    """Checks of a converter, with values and bytes from hypothesis.

    Attributes:
        converter: the class under test.
        examples: the number of examples of each check.
    """

    converter: ClassVar[type[Converter]]
    examples: ClassVar[int] = 50

    def config(self) -> dict[str, str]:
        """A configuration that works, without the prefix `value.converter.`."""
        return {}

    def values(self) -> st.SearchStrategy[SchemaAndValue]:
        """Pairs of schema and value that it can write."""
        raise NotImplementedError

    def comes_back(self, schema: Schema | None, value: Any) -> SchemaAndValue:
        """The value that is read after writing: the value itself, unless the format cannot represent it."""
        return schema, value

    def plugin(self) -> type[Plugin]:
        return self.converter

    @pytest.mark.parametrize("is_key", [False, True])
    def test_null_is_taken_both_ways(self, is_key: bool) -> None:
        converter = self._new(is_key)
        assert converter.to_connect_data(_TOPIC, None).value is None
        written = converter.from_connect_data(_TOPIC, None, None)
        if written is not None:
            assert converter.to_connect_data(_TOPIC, written).value is None

    @pytest.mark.parametrize("is_key", [False, True])
    def test_what_is_written_is_read(self, is_key: bool) -> None:
        converter = self._new(is_key)

        def check(pair: SchemaAndValue) -> None:
            written = converter.from_connect_data(_TOPIC, *pair)
            schema, value = converter.to_connect_data(_TOPIC, written)
            expected_schema, expected = self.comes_back(*pair)
            assert (schema, typed(value)) == (expected_schema, typed(expected))

        self._draw(self.values(), check)

    def test_a_column_is_read_as_its_rows_are(self) -> None:
        converter = self._new(False)

        def check(data: list[bytes | None]) -> None:
            try:
                rows = collect([converter.to_connect_data(_TOPIC, item) for item in data])
            except DataError:
                with pytest.raises(DataError):
                    list(converter.to_connect_batch(Constant(_TOPIC, len(data)), data))
                return
            values = converter.to_connect_batch(Constant(_TOPIC, len(data)), data)
            assert list(values.schemas) == list(rows.schemas)
            assert list(map(typed, values)) == list(map(typed, rows))

        written = self.values().map(lambda pair: converter.from_connect_data(_TOPIC, *pair))
        self._draw(st.lists(written | written | st.none(), max_size=6), check)
        self._draw(st.lists(written | st.none() | st.binary(max_size=12), max_size=4), check)

    def test_a_column_is_written_as_its_rows_are(self) -> None:
        converter = self._new(False)

        def check(pairs: list[SchemaAndValue]) -> None:
            values = collect([Row(*pair) for pair in pairs])
            try:
                rows = [converter.from_connect_data(_TOPIC, *pair) for pair in pairs]
            except DataError:
                with pytest.raises(DataError):
                    converter.from_connect_batch(Constant(_TOPIC, len(pairs)), values)
                return
            assert list(converter.from_connect_batch(Constant(_TOPIC, len(pairs)), values)) == rows
            read_back = self._read_back(converter, rows)
            if read_back is not None:
                # As a column that came out of the converter itself: text that is still bytes, for example.
                again = [
                    converter.from_connect_data(_TOPIC, s, v) for s, v in zip(read_back.schemas, read_back, strict=True)
                ]
                assert list(converter.from_connect_batch(Constant(_TOPIC, len(rows)), read_back)) == again

        self._draw(st.lists(self.values(), max_size=5), check)
        self._draw(st.lists(any_values(), max_size=3), check)

    def test_bytes_it_cannot_read_raise_data_error_only(self) -> None:
        converter = self._new(False)

        def check(data: bytes) -> None:
            try:
                converter.to_connect_data(_TOPIC, data)
            except DataError:
                pass

        self._draw(st.binary(max_size=40), check)
        written = self.values().map(lambda pair: converter.from_connect_data(_TOPIC, *pair) or b"")
        self._draw(st.tuples(written, st.integers(0, 40)).map(lambda cut: cut[0][: cut[1]]), check)

    def test_values_it_cannot_write_raise_data_error_only(self) -> None:
        converter = self._new(False)

        def check(pair: SchemaAndValue) -> None:
            try:
                written = converter.from_connect_data(_TOPIC, *pair)
            except DataError:
                return
            assert written is None or isinstance(written, bytes)

        self._draw(any_values(), check)
        mixed = st.tuples(any_values(), any_values()).map(lambda two: (two[0][0], two[1][1]))
        self._draw(mixed, check)
        for pair in _ODD:
            check(pair)

    def test_close_does_no_harm_when_called_twice(self) -> None:
        converter = self._new(False)
        converter.close()
        converter.close()

    def _new(self, is_key: bool) -> Converter:
        made = self.converter()
        made.configure({**self.config(), "converter.type": "key" if is_key else "value"}, is_key=is_key)
        return made

    def _read_back(self, converter: Converter, rows: list[bytes | None]) -> Values | None:
        try:
            return converter.to_connect_batch(Constant(_TOPIC, len(rows)), rows)
        except DataError:
            return None

    def _draw(self, strategy: st.SearchStrategy[Any], check: Any) -> None:
        limits = hypothesis_settings(
            max_examples=self.examples, deadline=None, suppress_health_check=[HealthCheck.too_slow]
        )
        limits(given(strategy)(check))()
