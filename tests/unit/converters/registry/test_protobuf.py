import datetime as dt
import subprocess
import sys
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connect.converters.protobuf import ProtobufConverter, indexes
from connect.converters.protobuf.descriptors import parse
from connect.converters.registry import RegistryNotFound
from connect.data import Constant, Schema, Values, logical, schema
from connect.errors import DataError

from .memory_registry import MemoryRegistry
from .schemas import structs, values

TAG = "io.confluent.connect.protobuf.Tag"


def converter(registry: MemoryRegistry, **settings: str) -> ProtobufConverter:
    made = ProtobufConverter()
    config = {name.replace("_", "."): value for name, value in settings.items()}
    made.configure({"schema.registry.url": registry.url, **config}, is_key=False)
    return made


def framed(number: int, message: bytes, at: tuple[int, ...] = (0,)) -> bytes:
    return b"\0" + number.to_bytes(4, "big") + indexes.write(at) + message


def message(text: str, at: tuple[int, ...] = (0,), /, **fields: Any) -> bytes:
    file = parse(text)
    return file.message_class(file.name_at(at))(**fields).SerializeToString()


ORDER = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
message Order {
  int64 id = 1;
  string name = 2;
  repeated Line lines = 3;
  map<string, int32> stock = 4;
  google.protobuf.Timestamp at = 5;
  State state = 6;
  oneof paid { string card = 7; int32 cash = 8; }
  message Line { string what = 1; uint32 count = 2; }
  enum State { NEW = 0; SENT = 1; }
}
message Other { uint64 big = 1; optional bool there = 2; }
"""


def test_a_message_is_a_struct_with_its_numbers_and_enums_as_parameters(registry: MemoryRegistry) -> None:
    number = registry.register("orders-value", ORDER, "PROTOBUF")
    at = {"seconds": 1_600_000_000, "nanos": 5_000_000}
    data = message(
        ORDER, id=7, name="a", lines=[{"what": "x", "count": 4_000_000_000}], stock={"y": 1}, at=at, state=1, cash=3
    )
    found, value = converter(registry).to_connect_data("orders", framed(number, data))
    assert value == {
        "paid_0": {"card": None, "cash": 3},
        "id": 7,
        "name": "a",
        "lines": [{"what": "x", "count": 4_000_000_000}],
        "stock": {"y": 1},
        "at": dt.datetime(2020, 9, 13, 12, 26, 40, 5000, tzinfo=dt.UTC),
        "state": "SENT",
    }
    assert found is not None
    assert (found.name, found.version) == ("Order", 1)
    fields = {field.name: field.schema for field in found.fields}
    assert fields["id"] == schema.OPTIONAL_INT64.replace(parameters={TAG: "1"})
    assert fields["at"] == logical.TIMESTAMP.replace(optional=True, parameters={TAG: "5"})
    assert fields["state"].parameters == {
        "io.confluent.connect.protobuf.Enum": "State",
        "io.confluent.connect.protobuf.Enum.NEW": "0",
        "io.confluent.connect.protobuf.Enum.SENT": "1",
        TAG: "6",
    }
    assert fields["paid_0"].name == "io.confluent.connect.protobuf.Union.paid"


def test_the_indexes_choose_the_message_of_each_record(registry: MemoryRegistry) -> None:
    number = registry.register("orders-value", ORDER, "PROTOBUF")
    data: list[bytes | None] = [
        framed(number, message(ORDER, (1,), big=2**64 - 1), (1,)),
        None,
        framed(number, message(ORDER, (0, 0), what="w"), (0, 0)),
        framed(number, message(ORDER, (1,), there=False), (1,)),
    ]
    found = converter(registry).to_connect_batch(Constant("orders", 4), data)
    assert found.to_list() == [{"big": -1, "there": None}, None, {"what": "w", "count": 0}, {"big": 0, "there": False}]
    assert [s and s.name for s in found.schemas] == ["Other", None, "Line", "Other"]


def test_imports_come_from_references_and_stay_within_the_folder(registry: MemoryRegistry) -> None:
    registry.register("common", 'syntax = "proto3"; package c; message Common { int32 a = 1; }', "PROTOBUF")
    text = 'syntax = "proto3"; import "x/common.proto"; message M { c.Common c = 1; }'
    reference = {"name": "x/common.proto", "subject": "common", "version": 1}
    number = registry.register("t-value", text, "PROTOBUF", [reference])
    data = framed(number, b"\n\x02\x08\x05")
    assert converter(registry).to_connect_data("t", data).value == {"c": {"a": 5}}
    for name in ("../evil.proto", "/tmp/evil.proto", "a/../../evil.proto"):
        number = registry.register("t-value", text + f"// {name}", "PROTOBUF", [{**reference, "name": name}])
        with pytest.raises(DataError, match="not the name of a file that it may use"):
            converter(registry).to_connect_data("t", framed(number, b""))


def test_a_serialized_descriptor_is_a_schema_too(registry: MemoryRegistry) -> None:
    import base64

    encoded = base64.b64encode(parse(ORDER).proto.SerializeToString()).decode()
    number = registry.register("orders-value", encoded, "PROTOBUF")
    value = converter(registry).to_connect_data("orders", framed(number, message(ORDER, id=3))).value
    assert (value["id"], value["state"]) == (3, "NEW")


def test_javas_converter_leaves_out_the_import_of_its_option(registry: MemoryRegistry) -> None:
    option = '[(confluent.field_meta).params = {key: "connect.type", value: "int8"}]'
    text = f'syntax = "proto3"; message M {{ int32 a = 1 {option}; }}'
    number = registry.register("t-value", text, "PROTOBUF")
    found, value = converter(registry).to_connect_data("t", framed(number, b"\x08\x05"))
    assert found is not None
    assert found.fields[0].schema == schema.OPTIONAL_INT8.replace(parameters={TAG: "1"})
    assert value == {"a": 5}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty where the magic byte"),
        (b"\x05abcdef", "begins with the byte 5 where the magic byte 0"),
        (b"\0\0\0", "ends within the id"),
        (b"\0\0\0\0\1", "ends within the indexes"),
        (b"\0\0\0\0\1\x02", "ends within the indexes"),
        (b"\0\0\0\0\1\x02\x0c", r"has no message at \[6\]"),
        (b"\0\0\0\0\1\0\xff\xff", "is not of the type shop.Order"),
        (b"\0\0\0\0\1\0\x12\x02\xff\xfe", "is not of the type shop.Order"),
        (b"\0\0\0\0\x63\0", "Schema 99 not found"),
    ],
)
def test_what_is_no_record_of_the_registry_says_so(registry: MemoryRegistry, data: bytes, said: str) -> None:
    registry.register("orders-value", ORDER, "PROTOBUF")
    with pytest.raises(DataError, match=said) as raised:
        converter(registry).to_connect_data("orders", data)
    assert "value of a record of topic orders" in str(raised.value)


def test_a_schema_of_another_kind_and_one_that_is_broken_say_so(registry: MemoryRegistry) -> None:
    number = registry.register("t-value", '"string"', "AVRO")
    with pytest.raises(DataError, match="of type AVRO, not PROTOBUF"):
        converter(registry).to_connect_data("t", framed(number, b""))
    number = registry.register("t-value", 'syntax = "proto3";\nmessage M { Foo x = 1; }', "PROTOBUF")
    with pytest.raises(DataError, match='line 2, error: "Foo" is not defined'):
        converter(registry).to_connect_data("t", framed(number, b""))
    number = registry.register("t-value", 'syntax = "proto3"; message M { M m = 1; }', "PROTOBUF")
    with pytest.raises(DataError, match="message M holds itself"):
        converter(registry).to_connect_data("t", framed(number, b""))


OLD = """
syntax = "proto2";
message Old {
  optional string name = 1;
  repeated string names = 2;
  map<string, string> more = 3;
  oneof one { string text = 4; int32 number = 5; }
  optional Line line = 6;
  message Line { required int32 count = 1; }
}
"""


def test_text_that_is_no_utf8_is_text_all_the_same_as_in_java(registry: MemoryRegistry) -> None:
    number = registry.register("t-value", OLD, "PROTOBUF")
    bad = b"\x02a\xff"
    data = b"\x0a" + bad + b"\x12" + bad + b"\x12\x01b\x1a\x07\x0a\x01k\x12" + bad + b"\x22" + bad
    value = converter(registry).to_connect_data("t", framed(number, data)).value
    text = "a\N{REPLACEMENT CHARACTER}"
    assert value == {
        "one_0": {"text": text, "number": None},
        "name": text,
        "names": [text, "b"],
        "more": {"k": text},
        "line": None,
    }


@pytest.mark.parametrize("data", [b"\x32\x00", b"\x32\x02\x10\x01"])
def test_a_message_without_what_it_requires_is_refused(registry: MemoryRegistry, data: bytes) -> None:
    number = registry.register("t-value", OLD, "PROTOBUF")
    good = framed(number, b"\x32\x02\x08\x05")
    assert converter(registry).to_connect_data("t", good).value["line"] == {"count": 5}
    with pytest.raises(DataError, match=r"it is not of the type Old: line\.count must be there"):
        converter(registry).to_connect_batch(Constant("t", 2), [good, framed(number, data)])


def test_a_struct_is_registered_as_a_message(registry: MemoryRegistry) -> None:
    of = Schema.struct(
        {
            "id": schema.INT64,
            "note": schema.OPTIONAL_STRING,
            "small": schema.INT16,
            "price": logical.decimal(2),
            "lines": Schema.array(Schema.struct({"what": schema.STRING}, name="shop.Line")),
            "stock": Schema.map(schema.STRING, schema.INT32),
        },
        name="shop.Order",
    )

    value = {"id": 1, "note": None, "small": 2, "price": Decimal("1.50"), "lines": [{"what": "a"}], "stock": {"b": 1}}
    data = converter(registry).from_connect_data("orders", of, value)
    assert data is not None
    assert data[:6] == b"\0\0\0\0\1\0"
    assert registry.subjects == {"orders-value": [1]}
    assert registry.text(1) == (
        'syntax = "proto3";\npackage shop;\n\nimport "confluent/type/decimal.proto";\n\nmessage Order {\n'
        "  int64 id = 1;\n  string note = 2;\n  int32 small = 3 [(confluent.field_meta) = {\n    params: [\n      {\n"
        '        key: "connect.type",\n        value: "int16"\n      }\n    ]\n  }];\n'
        "  confluent.type.Decimal price = 4 [(confluent.field_meta) = {\n    params: [\n      {\n"
        '        key: "scale",\n        value: "2"\n      }\n    ]\n  }];\n'
        "  repeated Line lines = 5;\n  repeated ConnectDefault1Entry stock = 6;\n\n"
        "  message Line {\n    string what = 1;\n  }\n"
        "  message ConnectDefault1Entry {\n    string key = 1;\n    int32 value = 2;\n  }\n}\n"
    )
    back = converter(registry).to_connect_data("orders", data)
    assert back.value == {**value, "note": ""}  # what is not set has no null in Protobuf, unless an option says so


@pytest.mark.parametrize("missing", ["google.protobuf", "google.type", "grpc_tools"])
def test_without_the_extra_its_error_says_what_to_install(missing: str) -> None:
    program = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from connect.plugins.builtin import BUILT_IN\n"
        "from connect.plugins.loading import load\n"
        "load(next(ref for ref in BUILT_IN if ref.name.endswith('ProtobufConverter')))\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "PluginLoadError" in ended.stderr
    assert "pip install 'connect-runtime[protobuf]'" in ended.stderr.splitlines()[-1]


def test_half_a_surrogate_pair_is_a_question_mark(registry: MemoryRegistry) -> None:
    inner = Schema.struct({"t": schema.STRING}, name="shop.Inner")
    fields = {"t": schema.STRING, "list": Schema.array(schema.STRING), "map": Schema.map(schema.STRING, inner)}
    own = Schema.struct(fields, name="shop.M")
    made = converter(registry)
    value = {"t": "a\ud83d", "list": ["\udc00", "b"], "map": {"\ud800": {"t": "\ud800"}}}
    data = made.from_connect_data("orders", own, value)
    assert made.to_connect_data("orders", data).value == {"t": "a?", "list": ["?", "b"], "map": {"?": {"t": "?"}}}


@pytest.mark.parametrize("digits", [1, 28, 29, 33, 34, 38, 60])
def test_a_decimal_keeps_all_of_its_digits(registry: MemoryRegistry, digits: int) -> None:
    own = Schema.struct({"d": logical.decimal(4)}, name="shop.M")
    made = converter(registry)
    for number in (Decimal(f"{'9' * digits}E-4"), Decimal(f"-1{'2' * (digits - 1)}E-4")):
        data = made.from_connect_data("orders", own, {"d": number})
        assert made.to_connect_data("orders", data).value == {"d": number}


def test_a_null_that_has_no_default_stays_null(registry: MemoryRegistry) -> None:
    """A decimal of no bytes is no number, and a day of the year 0 no date."""
    inner = Schema.struct({"price": logical.decimal(2, optional=True), "n": schema.OPTIONAL_INT32}, optional=True)
    of = Schema.struct(
        {
            "price": logical.decimal(2, optional=True),
            "day": logical.DATE.as_optional(),
            "at": logical.TIMESTAMP.as_optional(),
            "inner": inner,
        }
    )
    made = converter(registry, generate_struct_for_nulls="true")
    _, value = made.to_connect_data(
        "t", made.from_connect_data("t", of, dict.fromkeys(("price", "day", "at", "inner")))
    )
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    assert value == {"price": None, "day": None, "at": epoch, "inner": {"price": None, "n": 0}}


def test_a_decimal_is_rounded_to_its_precision(registry: MemoryRegistry) -> None:
    text = 'syntax = "proto3"; import "confluent/type/decimal.proto"; message M { confluent.type.Decimal d = 1; }'
    number = registry.register("t-value", text, "PROTOBUF")
    for precision, expected in ((0, "123.55"), (4, "123.6"), (2, "1.2E+2")):
        data = message(text, d={"value": (12355).to_bytes(2, "big"), "precision": precision, "scale": 2})
        assert str(converter(registry).to_connect_data("t", framed(number, data)).value["d"]) == expected


def test_a_message_and_a_field_of_one_name_do_not_clash(registry: MemoryRegistry) -> None:
    of = Schema.struct({"Line": Schema.struct({"a": schema.INT32}, name="shop.Line")}, name="Order")
    each = converter(registry)
    data = each.from_connect_data("t", of, {"Line": {"a": 1}})
    assert "LineMessage Line = 1;" in registry.text(1)
    assert each.to_connect_data("t", data).value == {"Line": {"a": 1}}


@pytest.mark.parametrize("option", ["optional.for.nullables", "wrapper.for.nullables"])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_values_come_back_with_their_nulls(registry: MemoryRegistry, option: str, data: st.DataObject) -> None:
    keys = [schema.STRING, schema.INT32, schema.INT64, schema.BOOLEAN]
    of = data.draw(structs(keys, lambda n: f"com.acme.S{n}"))
    given_values = data.draw(st.lists(values(of), min_size=1, max_size=4))
    each = converter(registry, **{option.replace(".", "_"): "true"})
    written = each.from_connect_batch(Constant("t", len(given_values)), Values(given_values, of))
    read = each.to_connect_batch(Constant("t", len(written)), written)
    assert [_comparable(of, value) for value in read.to_list()] == [_comparable(of, value) for value in given_values]


@pytest.mark.parametrize(
    ("of", "value", "options"),
    [
        (schema.OPTIONAL_INT64, 0, {"wrapper_for_nullables": "true"}),
        (schema.OPTIONAL_STRING, "", {"wrapper_for_nullables": "true"}),
        (logical.DATE.as_optional(), dt.date(1970, 1, 1), {}),
        (logical.TIMESTAMP.as_optional(), dt.datetime(1970, 1, 1, tzinfo=dt.UTC), {"optional_for_nullables": "true"}),
        (logical.decimal(2, optional=True), Decimal("0.00"), {"wrapper_for_nullables": "true"}),
        (Schema.struct({"a": schema.INT32}, name="com.acme.Inner", optional=True), {"a": 0}, {}),
    ],
)
def test_null_in_a_map_comes_back_as_null(
    registry: MemoryRegistry, of: Schema, value: Any, options: dict[str, str]
) -> None:
    whole = Schema.struct({"m": Schema.map(schema.STRING, of)}, name="com.acme.M")
    each = converter(registry, **options)
    given_value = {"m": {"a": None, "b": value}}
    found = each.to_connect_data("t", each.from_connect_data("t", whole, given_value))
    assert found.value == given_value
    assert found.schema is not None
    (field,) = found.schema.fields
    assert field.schema.value_schema is not None
    assert field.schema.value_schema.optional


def _comparable(of: Schema, value: Any) -> Any:
    """A value in which no array and no map is null: Protobuf knows only empty ones."""
    if of.type.value in ("array", "map"):
        empty: Any = [] if of.type.value == "array" else {}
        if not value:
            return empty
        assert of.value_schema is not None
        if isinstance(value, dict):
            return {key: _comparable(of.value_schema, item) for key, item in value.items()}
        return [_comparable(of.value_schema, item) for item in value]
    if of.type.value == "struct" and value is not None:
        return {field.name: _comparable(field.schema, value[field.name]) for field in of.fields}
    return value


@pytest.mark.parametrize(
    ("of", "value"), [(schema.STRING, "x"), (schema.OPTIONAL_INT64, -5), (schema.BYTES, b"a"), (schema.FLOAT32, 1.5)]
)
def test_a_record_that_is_a_primitive_is_a_wrapper(registry: MemoryRegistry, of: Schema, value: Any) -> None:
    each = converter(registry)
    data = each.from_connect_data("t", of, value)
    found = each.to_connect_data("t", data)
    assert found.value == value
    assert found.schema is not None
    assert found.schema.type is of.type


@pytest.mark.parametrize(
    ("of", "value", "said"),
    [
        (None, {"a": 1}, "needs a schema"),
        (Schema.array(schema.INT32), [1], "of type ARRAY cannot be"),
        (logical.TIMESTAMP, dt.datetime.now(dt.UTC), "Timestamp cannot be"),
        (Schema.struct({"a": Schema.array(Schema.array(schema.INT32))}), {"a": []}, "array of arrays"),
        (Schema.struct({"a-b": schema.INT32}), {"a-b": 1}, "not a valid Protobuf schema"),
        (Schema.struct({"a": schema.INT32}), {"a": "x"}, "a: .*str"),
        (Schema.struct({"a": schema.INT32}), {"a": 1 << 40}, "a: "),
        (Schema.struct({"a": schema.INT32}), {"a": None}, "a: null where"),
        (Schema.struct({"a": schema.INT32}), {"b": 1}, 'no field "b"'),
        (Schema.struct({"a": Schema.array(schema.OPTIONAL_INT32)}), {"a": [None]}, "null in an array"),
        (Schema.struct({"a": logical.DATE}), {"a": 5}, "a: int where"),
    ],
)
def test_a_value_that_has_no_place_in_protobuf_says_which_and_why(
    registry: MemoryRegistry, of: Schema | None, value: Any, said: str
) -> None:
    with pytest.raises(DataError, match=said):
        converter(registry).from_connect_data("t", of, value)


def test_nothing_is_registered_for_tombstones_nor_for_what_is_no_schema(registry: MemoryRegistry) -> None:
    each = converter(registry)
    assert each.from_connect_batch(Constant("t", 2), Values([None, None], schema.OPTIONAL_STRING)) == [None, None]
    assert each.to_connect_data("t", None) == (None, None)
    with pytest.raises(DataError):
        each.from_connect_data("t", Schema.struct({"a b": schema.INT32}), {"a b": 1})
    assert registry.schemas == []


def test_without_auto_registration_the_schema_must_be_there(registry: MemoryRegistry) -> None:
    of, value = Schema.struct({"a": schema.INT32}, name="A"), {"a": 1}
    each = converter(registry, auto_register_schemas="false")
    with pytest.raises(RegistryNotFound, match=r"not registered under t-value.*auto\.register\.schemas=true"):
        each.from_connect_data("t", of, value)
    registered = converter(registry).from_connect_data("t", of, value)
    assert each.from_connect_data("t", of, value) == registered


def test_the_latest_version_is_written_by_the_names_of_its_fields(registry: MemoryRegistry) -> None:
    latest = 'syntax = "proto3"; message X { int32 q = 1; } message A { sint64 a = 9; map<string, int32> m = 3; }'
    registry.register("t-value", latest, "PROTOBUF")
    fields = {"a": schema.INT32, "m": Schema.map(schema.STRING, schema.INT32), "old": schema.STRING}
    of = Schema.struct(fields, name="A")
    each = converter(registry, auto_register_schemas="false", use_latest_version="true")
    data = each.from_connect_data("t", of, {"a": -1, "m": {"k": 2}, "old": "x"})
    assert data == framed(1, b"\x1a\x05\n\x01k\x10\x02H\x01", (1,))
    assert each.to_connect_data("t", data).value == {"a": -1, "m": {"k": 2}}


def test_a_given_id_is_written_whatever_the_subject(registry: MemoryRegistry) -> None:
    number = registry.register("elsewhere", 'syntax = "proto3"; message X {} message A { int32 a = 7; }', "PROTOBUF")
    each = converter(registry, auto_register_schemas="false", use_schema_id=str(number))
    of = Schema.struct({"a": schema.INT32}, name="A")
    assert each.from_connect_data("t", of, {"a": 1}) == framed(number, b"\x38\x01", (1,))
    with pytest.raises(DataError, match="schema 1 has no message B"):
        each.from_connect_data("t", of.replace(name="B"), {"a": 1})


def test_the_latest_version_is_asked_for_again_when_it_is_old(registry: MemoryRegistry) -> None:
    of = Schema.struct({"a": schema.INT32}, name="A")
    each = converter(registry, auto_register_schemas="false", use_latest_version="true", latest_cache_ttl_sec="0")
    for number, field in ((1, 1), (2, 5)):
        registry.register("t-value", f'syntax = "proto3"; message A {{ int32 a = {field}; }}', "PROTOBUF")
        assert each.from_connect_data("t", of, {"a": 1}) == framed(number, bytes([field << 3, 1]))


def test_schemas_are_compiled_once_and_print_nothing(
    registry: MemoryRegistry, capfd: pytest.CaptureFixture[str]
) -> None:
    text = "message M { optional int32 a = 1; }"  # proto2, without saying so
    number = registry.register("t-value", text, "PROTOBUF")
    assert converter(registry).to_connect_data("t", framed(number, b"")).value == {"a": None}
    with pytest.raises(DataError):
        converter(registry).from_connect_data("t", Schema.struct({"a b": schema.INT32}), {"a b": 1})
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "names",
    [["a" * 300], ["a/" * 2_500 + "b.proto"], ["a/" * 1_500 + "b.proto"], ["a", "a/b.proto"], ["a/b.proto", "a"]],
    ids=len,
)
def test_an_import_that_can_be_no_file_is_refused(names: list[str]) -> None:
    text = 'syntax = "proto3"; ' + "".join(f'import "{name}"; ' for name in names) + "message A {}"
    with pytest.raises(DataError, match="not the name of a file that it may use") as refused:
        parse(text, dict.fromkeys(names, 'syntax = "proto3";'))
    assert len(str(refused.value)) < 300
