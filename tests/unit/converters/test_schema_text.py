"""A schema that was kept as text is the same schema when it is read."""

import datetime as dt
from decimal import Decimal

import pytest

from connect.converters.schema_text import schema_of_text, text_of
from connect.data import Schema, logical
from connect.data.schema import BOOLEAN, BYTES, FLOAT32, FLOAT64, INT64, OPTIONAL_STRING, STRING
from connect.errors import DataError

_NOON = dt.datetime(2024, 5, 6, 12, tzinfo=dt.UTC)


def test_every_attribute_comes_back() -> None:
    schema = Schema.struct(
        {
            "a": INT64.replace(default=1 << 60, doc="ä\n", version=3),
            "b": Schema.array(OPTIONAL_STRING, default=["x", None]),
            "c": Schema.map(STRING, FLOAT64, default={"k": -0.5}, optional=True),
            "d": logical.decimal(2, default=Decimal("1.50")),
            "e": logical.DATE.replace(default=_NOON.date()),
            "f": logical.TIME.replace(default=_NOON.time()),
            "g": logical.TIMESTAMP.replace(default=_NOON),
            "h": BYTES.replace(default=b"\x00\xff"),
            "i": BOOLEAN.replace(default=False, parameters={"p": "q"}),
            "j": FLOAT32.replace(default=0.10000000149011612),
            "k": Schema.struct({"x": INT64}, name="inner", default={"x": 7}),
        },
        name="outer",
    )
    text = text_of(schema)
    assert "\n" not in text
    assert schema_of_text(text) == schema
    assert schema_of_text(text.encode()).field("j") == schema.field("j")


@pytest.mark.parametrize("text", ["", "{", "null", "{}", '{"type": "int46"}'])
def test_what_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(DataError):
        schema_of_text(text)
