"""JSON without a schema that is used in the same way again is read for that at once."""

import pytest

from connect.converters.json_converter import JsonConverter
from connect.data.column import Constant
from connect.errors import DataError

DATA: list[bytes | None] = [b'{"a":{"b":[1,2.5,"x"]},"c":null}', b'{"a":{"b":[]},"c":-0.0}']
VALUES = [{"a": {"b": [1, 2.5, "x"]}, "c": None}, {"a": {"b": []}, "c": -0.0}]


@pytest.fixture
def converter() -> JsonConverter:
    made = JsonConverter()
    made.configure({"schemas.enable": "false"}, is_key=False)
    return made


def test_what_is_decoded_anyway_is_decoded_without_a_check_before(converter: JsonConverter) -> None:
    assert converter.to_connect_batch(Constant("t", 2), DATA).to_list() == VALUES
    again = converter.to_connect_batch(Constant("t", 2), DATA)
    assert again.json is None
    assert again.to_list() == VALUES
    assert str(again.to_list()[1]["c"]) == "0.0"  # as Java reads it, by way of a decimal
    with pytest.raises(DataError):
        converter.to_connect_batch(Constant("t", 1), [b'{"a":'])


def test_json_that_is_written_as_it_came_is_kept(converter: JsonConverter) -> None:
    first = converter.to_connect_batch(Constant("t", 2), DATA)
    assert first.to_list() == VALUES
    assert first.json == DATA
    again = converter.to_connect_batch(Constant("t", 2), DATA)
    assert again.json == DATA
    assert again.to_list() == VALUES
