"""What Arrow's reader makes of JSON is what the other ways make of it, or it leaves the records to them."""

import base64
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from connect.converters import JsonConverter
from connect.converters.json_arrow import ArrowRows
from connect.converters.json_decode import Decoder
from connect.data.struct_columns import StructColumns
from connect.errors import DataError

FIELDS: list[dict[str, Any]] = [
    {"field": "id", "type": "int64"},
    {"field": "small", "type": "int8", "optional": True},
    {"field": "name", "type": "string", "optional": True},
    {"field": "amount", "type": "double", "optional": True},
    {"field": "rough", "type": "float", "optional": True},
    {"field": "there", "type": "boolean", "optional": True},
    {"field": "raw", "type": "bytes", "optional": True},
    {"field": "fallback", "type": "string", "optional": True, "default": "-"},
    {"field": "at", "type": "int64", "name": "org.apache.kafka.connect.data.Timestamp", "optional": True},
    {"field": "day", "type": "int32", "name": "org.apache.kafka.connect.data.Date", "optional": True},
    {
        "field": "price",
        "type": "bytes",
        "name": "org.apache.kafka.connect.data.Decimal",
        "parameters": {"scale": "2"},
        "optional": True,
    },
]


def converter(**config: str) -> JsonConverter:
    made = JsonConverter()
    content = json.dumps({"type": "struct", "fields": FIELDS})
    made.configure({"schema.content": content, **{k.replace("_", "."): v for k, v in config.items()}}, is_key=False)
    return made


ONE_BY_ONE = converter()
SCHEMA = ONE_BY_ONE._declared
assert SCHEMA is not None


def by_arrow(records: list[bytes]) -> list[Any] | None:
    """Rows as Arrow's reader gives them; None when it leaves them to the other ways."""
    columns = ArrowRows(SCHEMA).columns(records, Decoder(replace_null=True))
    return None if columns is None else StructColumns(SCHEMA, columns).to_list()


def one_by_one(records: list[bytes]) -> list[Any]:
    return [ONE_BY_ONE.to_connect_data("t", record).value for record in records]


def record(**fields: str) -> bytes:
    """A JSON object whose values are written as they are given."""
    return ("{" + ",".join(f'"{name}":{text}' for name, text in {"id": "1", **fields}.items()) + "}").encode()


USUAL = [
    record(name='"Ada"', amount="1.5", rough="0.1", there="true", small="-128", fallback='"x"'),
    record(name='"\\u0041\\ud83d\\ude00 é\\n\\u0000"', amount="12345678901234567890", rough="3", fallback='""'),
    record(amount="1e-300", at="-62135596800000", day="2932896", raw='"AAEC"', price='"MDk="', fallback='"y"'),
    record(amount="0", rough="0.0", at="1e0"[:1], day="0", name="null", there="false", fallback='"z"'),
]


def test_plain_records_are_read_by_arrow() -> None:
    found = by_arrow(USUAL)
    assert found is not None
    assert [repr(row) for row in found] == [repr(row) for row in one_by_one(USUAL)]


#: Texts that stand where a value does, many of them wrong, or right to one reader only.
WORDS = r"""
0 -0 -0.0 1 1.0 1. .5 01 +1 - 1e2 1E+2 1e400 -1e400 1e-400 -1e-400 0e9999999999 0E-9999999999 1e-9999999999
1e-99999999999 127 128 9223372036854775807 9223372036854775808 18446744073709551617 0.1 0.30000000000000004
3.4028235e38 3.4028236e38
-1e39 1e-46 NaN nan Infinity -Infinity Inf inf 0x10 true false null True nul "" "a" "\ud800" "\ud800\udc00" "\q"
"\u12" "AA==" "AA=" "MDk=" [] [1] {} {"a":1} 253402300800000 -62135596800001 2932897 86400000 // /**/1 1/**/ 1, '1'
"\u0000" "\u00e9" "é" 1_000
"""
VALUES = [*WORDS.split(), '"a\nb"', '"a\tb"', '"a\x00b"', '"}"', '"}\n{"', '"\x7f"', " 1 ", "\n1", "1\x00", ""]
NAMES = [*(field["field"] for field in FIELDS), "i\\u0064", "other", ""]
#: What a record may be, when it is not one object; $ is for fields that make one.
SHAPES = r"""
{} {$} { } {$}{$} {$},{$} [{$}] 1 [] null {$,"name":{} {$}} {$,"name":"} {"name":"{",$} {$,} {$,"name":[{$}] {$]} ${}
{$}// {$,"there":true}{$}
"""
ODD = [
    *SHAPES.split(),
    "",
    " ",
    "{$}\n{$}",
    " {$}",
    "{$} ",
    "{$}\x00",
    "{$}\x00}",
    "{$}\x00{}",
    "\ufeff{$}",
    "\n",
    "{$}\n",
    '{$,"name":"a\n}',
]


def with_fields(text: str) -> bytes:
    return text.replace("$", '"fallback":"-","id":7').encode()


def assert_alike(records: list[bytes]) -> None:
    found = by_arrow(records)
    if found is not None:
        assert [repr(row) for row in found] == [repr(row) for row in one_by_one(records)]


@pytest.mark.parametrize("name", NAMES)
def test_each_text_in_each_field_is_read_as_the_other_ways_read_it(name: str) -> None:
    for value in VALUES:
        assert_alike([with_fields(f'{{$,"{name}":{value}}}')])


def test_decimals_come_in_arrow_columns_and_are_the_same() -> None:
    numbers = [0, 1, -1, 127, 128, -128, -129, 10**12, -(10**12), 2**119 - 1, -(2**119)]
    texts = [
        base64.b64encode(n.to_bytes((n + (n < 0)).bit_length() // 8 + 1, "big", signed=True)).decode() for n in numbers
    ]
    records = [record(price=f'"{text}"', fallback='"x"') for text in texts] + [record(fallback='"x"')]
    columns = ArrowRows(SCHEMA).columns(records, Decoder(replace_null=True))
    assert columns is not None
    assert not isinstance(columns[-1], list)
    assert_alike(records)


@pytest.mark.parametrize("text", ["AAA====", "AAAA====", "AA===", "A", "", "AA AA", "/" * 24, "A" * 24, "/" * 20])
def test_odd_decimals_are_left_to_the_other_ways(text: str) -> None:
    records = [record(price=f'"{text}"', fallback='"x"'), record(price='"MDk="', fallback='"x"')]
    try:
        one_by_one(records)
    except DataError:
        assert by_arrow(records) is None
    else:
        assert_alike(records)


@pytest.mark.parametrize("first", ODD)
def test_odd_records_side_by_side_are_read_as_the_other_ways_read_them(first: str) -> None:
    for second in ODD:
        assert_alike([with_fields(first), with_fields(second)])


objects = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES)), max_size=2).map(
    lambda pairs: "{$" + "".join(f',"{name}":{value}' for name, value in pairs) + "}"
)


@given(st.lists((objects | st.sampled_from(ODD)).map(with_fields) | st.sampled_from(USUAL), min_size=1, max_size=3))
@example([with_fields('{$,"name":"') + b'\xff"}'])
@example([with_fields('{$,"name":"') + b'\xed\xa0\x80"}'])
@example([with_fields("{$}{$}"), with_fields("{$}\x00}"), with_fields("{$}")])
def test_what_arrow_reads_is_what_the_other_ways_read(records: list[bytes]) -> None:
    assert_alike(records)


@pytest.mark.parametrize(
    "wrong", [b"", b'{"id":1}{"id":2}', b"{}", b'{"id":1,"name":"\xff"}', b'{"id":1,"amount":NaN}', b'{"id":"1"}']
)
def test_one_odd_record_among_many_leaves_all_to_the_other_ways(wrong: bytes) -> None:
    assert by_arrow([*USUAL, wrong]) is None


def test_a_batch_of_envelopes_comes_in_arrow_columns_with_the_same_values() -> None:
    envelope = converter(schema_content="")
    schema = json.dumps({"type": "struct", "fields": FIELDS}, separators=(",", ":")).encode()
    batch = [b'{"schema":' + schema + b',"payload":' + each + b"}" for each in USUAL * 50]
    from connect.data import Constant

    found = envelope.to_connect_batch(Constant("t", len(batch)), batch)
    assert found.struct_columns is not None
    assert found.struct_columns.field("id").is_arrow
    assert repr(found.to_list()) == repr(one_by_one(USUAL * 50))


def test_what_arrow_never_takes_is_soon_not_offered_to_it() -> None:
    reader, decoder = ArrowRows(SCHEMA), Decoder(replace_null=True)
    for _ in range(8):
        assert reader.columns([b'{"id":1,"other":2}'], decoder) is None
    assert reader.columns(USUAL, decoder) is None
    assert any(reader.columns(USUAL, decoder) is not None for _ in range(64))  # it is tried again now and then
    assert reader.columns(USUAL, decoder) is not None


def test_one_wrong_record_of_many_is_found_with_its_own_error() -> None:
    with pytest.raises(DataError, match="id: null where the schema requires"):
        ONE_BY_ONE._to_connect([*USUAL * 50, b'{"name":"nobody"}'])
