"""ReplaceField. Expected values are what Kafka Connect's own class gives; paths are ours."""

from typing import Any

import pytest

from connect import ConfigError, DataError, Schema, Type
from connect.data.schema import INT32, OPTIONAL_STRING, STRING
from transforms.replace_field import ReplaceFieldKey, ReplaceFieldValue, ReplaceNestedFieldValue

from .forms import with_config
from .shaping import V2, changed, refused, shaped

_WITH_DEFAULT = Schema(Type.STRING, optional=True, default="d")
_MAP = {"a": 1, "b": None, "c": "text", "a.b": 5}
_FIELDS = {"a": INT32, "b": _WITH_DEFAULT, "c": STRING, "a.b": INT32}
_ABOUT: dict[str, Any] = {"name": "top", "version": 3, "doc": "of top", "parameters": {"p": "q"}}
_SCHEMA = Schema.struct(_FIELDS, **_ABOUT).as_optional()

# Settings, and the old name of each field that is left by its new one.
_CASES = [
    ({}, {"a": "a", "b": "b", "c": "c", "a.b": "a.b"}),
    ({"exclude": "a"}, {"b": "b", "c": "c", "a.b": "a.b"}),
    ({"exclude": "a,no"}, {"b": "b", "c": "c", "a.b": "a.b"}),
    ({"exclude": "a.b"}, {"a": "a", "b": "b", "c": "c"}),
    ({"include": "c,a"}, {"a": "a", "c": "c"}),
    ({"include": "a,c,a", "exclude": "c"}, {"a": "a"}),
    ({"include": "no"}, {}),
    ({"exclude": "a,b,c,a.b"}, {}),
    ({"renames": "a:z"}, {"z": "a", "b": "b", "c": "c", "a.b": "a.b"}),
    ({"renames": "a:a.b", "exclude": "a.b"}, {"a.b": "a", "b": "b", "c": "c"}),
    ({"renames": " a : c , c:a"}, {"c": "a", "b": "b", "a": "c", "a.b": "a.b"}),
    ({"renames": "a:z,a:y"}, {"y": "a", "b": "b", "c": "c", "a.b": "a.b"}),
    ({"renames": "no:z"}, {"a": "a", "b": "b", "c": "c", "a.b": "a.b"}),
    ({"renames": "a:z", "include": "a"}, {"z": "a"}),
    ({"renames": "a:z", "include": "z"}, {}),
    ({"renames": "a:z", "exclude": "a"}, {"b": "b", "c": "c", "a.b": "a.b"}),
    ({"renames": "a:z", "exclude": "z"}, {"z": "a", "b": "b", "c": "c", "a.b": "a.b"}),
]


@pytest.mark.parametrize(("config", "left"), _CASES)
def test_fields_of_maps(config: dict[str, str], left: dict[str, str]) -> None:
    assert shaped(ReplaceFieldValue, config, None, _MAP) == (None, {new: _MAP[old] for new, old in left.items()})


@pytest.mark.parametrize(("config", "left"), _CASES)
@pytest.mark.parametrize("replace", ["true", "false"])
def test_fields_of_structs(config: dict[str, str], left: dict[str, str], replace: str) -> None:
    value = {**_MAP, "b": "d"} if replace == "true" else _MAP
    assert shaped(ReplaceFieldValue, {**config, "replace.null.with.default": replace}, _SCHEMA, _MAP) == (
        # No longer optional, as in Java; the order of the fields is that of the old schema.
        Schema.struct(
            {new: _FIELDS[old] for new, old in sorted(left.items(), key=lambda f: list(_FIELDS).index(f[1]))}, **_ABOUT
        ),
        {new: value[old] for new, old in left.items()},
    )


def test_two_fields_of_one_name() -> None:
    assert isinstance(refused(ReplaceFieldValue, {"renames": "a:c"}, _SCHEMA, _MAP), DataError)
    assert isinstance(refused(ReplaceFieldValue, {"renames": "a:z,c:z"}, _SCHEMA, _MAP), DataError)
    for config in ({"renames": "a:c"}, {"renames": "a:c", "include": "a,c"}):
        assert shaped(ReplaceFieldValue, config, None, {"a": 1, "c": 2}).value == {"c": 2}
        assert shaped(ReplaceFieldValue, config, None, {"c": 2, "a": 1}).value == {"c": 1}


_CARD = Schema.struct({"number": STRING, "owner": _WITH_DEFAULT}, name="card", version=2).as_optional()
_ORDER = Schema.struct({"id": INT32, "card": _CARD}, **_ABOUT).as_optional()
_NUMBER, _OWNER = {"number": STRING}, {"owner": _WITH_DEFAULT}

# Settings, the fields of the card that are left, and what the card becomes.
_NESTED: list[Any] = [
    ({"exclude": "card.number"}, _OWNER, {"owner": "d"}),
    ({"include": "id,card.number"}, _NUMBER, {"number": "4"}),
    ({"include": "id,card,card.number"}, _NUMBER | _OWNER, {"number": "4", "owner": None}),
    ({"include": "id,card,card.owner", "exclude": "card.number"}, _OWNER, {"owner": "d"}),
    ({"renames": "card.number:no"}, {"no": STRING} | _OWNER, {"no": "4", "owner": "d"}),
    ({"renames": "card.number:`n.o`"}, {"n.o": STRING} | _OWNER, {"n.o": "4", "owner": "d"}),
    ({"exclude": "card.no.more"}, _NUMBER | _OWNER, {"number": "4", "owner": None}),
]


@pytest.mark.parametrize(("config", "fields", "card"), _NESTED)
def test_nested_fields_of_structs(config: dict[str, str], fields: dict[str, Schema], card: Any) -> None:
    top = "include" in config  # which changes what is at the top, and so its schema
    about = {"optional": not top, **_ABOUT}
    inner = Schema(Type.STRUCT, fields=fields, name="card", version=2, optional=True)
    schema = Schema(Type.STRUCT, fields={"id": INT32, "card": inner}, **about)
    given = {"number": "4", "owner": None}
    assert shaped(ReplaceFieldValue, {**config, **V2}, _ORDER, {"id": 1, "card": given}) == (
        schema,
        {"id": 1, "card": card},
    )
    assert shaped(ReplaceFieldValue, {**config, **V2}, _ORDER, {"id": 1, "card": None}) == (
        schema,
        {"id": 1, "card": None},
    )


@pytest.mark.parametrize(("config", "fields", "card"), _NESTED)
def test_nested_fields_of_maps(config: dict[str, str], fields: dict[str, Schema], card: Any) -> None:
    given = {"number": "4", "owner": "me"}
    found = shaped(ReplaceFieldValue, {**config, **V2}, None, {"id": 1, "card": given}).value
    assert found == {"id": 1, "card": {**card, "owner": "me"} if "owner" in card else card}
    assert shaped(ReplaceFieldValue, {**config, **V2}, None, {"id": 1}).value == {"id": 1}


def test_inner_fields_are_changed_before_outer_ones() -> None:
    config = {"renames": "card:payment,card.number:no", "exclude": "card.owner", **V2}
    assert shaped(ReplaceFieldValue, config, None, {"card": {"number": "4", "owner": "me"}}).value == {
        "payment": {"no": "4"}
    }
    assert shaped(ReplaceFieldValue, config, _ORDER, {"id": 1, "card": {"number": "4"}}).value == {
        "id": 1,
        "payment": {"no": "4"},
    }


@pytest.mark.parametrize("schema", [None, _SCHEMA, OPTIONAL_STRING])
def test_null_stays_null(schema: Schema | None) -> None:
    assert shaped(ReplaceFieldValue, {"exclude": "a"}, schema, None) == (schema, None)


@pytest.mark.parametrize(
    ("config", "schema", "value"),
    [
        ({"exclude": "a"}, None, "text"),
        ({"exclude": "a"}, None, [1]),
        ({"exclude": "a"}, STRING, "text"),
        ({"exclude": "a.b", **V2}, None, {"a": "text"}),
        ({"exclude": "c.d", **V2}, _SCHEMA, _MAP),
    ],
)
def test_what_has_no_fields_is_refused(config: dict[str, str], schema: Schema | None, value: Any) -> None:
    assert isinstance(refused(ReplaceFieldValue, config, schema, value), DataError)


def test_keys() -> None:
    one = changed(ReplaceFieldKey, {"exclude": "a"}, None, {"a": 1, "b": 2})
    assert (one.key, one.value) == ({"b": 2}, {"a": 1, "b": 2})


@pytest.mark.parametrize(
    "config",
    [
        {"renames": "a"},
        {"renames": "a:"},
        {"renames": "a:b:c"},
        {"renames": "a:b,"},
        {"include": "a,,b"},
        {"exclude": ","},
        {"exclude": "`a", **V2},
        {"include": "`a", **V2},
        {"renames": "a.b:c.d", **V2},
    ],
)
def test_wrong_settings(config: dict[str, str]) -> None:
    with pytest.raises(ConfigError) as caught:
        with_config(ReplaceFieldValue, config)
    assert caught.value.key == next(iter(config))


@pytest.mark.parametrize(
    ("include", "expected"),
    [
        (
            "",
            {
                "abc": 42,
                "etc": "etc",
                "bar": {
                    "a1": "k1",
                    "xyz": {"b2": {"c1": "f4"}, "b1": {"c1": "f4"}},
                    "a3": {"b2": {"happy": "f4"}, "luck": {"c1": "f4"}},
                },
            },
        ),
        ("foo.a3", {"bar": {"a3": {"b2": {"happy": "f4"}, "luck": {"c1": "f4"}}}}),
    ],
)
def test_confluents_takes_paths_without_being_told(include: str, expected: dict[str, Any]) -> None:
    twice = {"b2": {"c1": "f4"}, "b1": {"c1": "f4"}}
    value = {"abc": 42, "etc": "etc", "foo": {"a1": "k1", "a2": twice, "a3": twice}, "dont": "whatever"}
    config = {
        "exclude": "dont",
        "include": include,
        "renames": "foo.a2:xyz,foo:bar,foo.a3.b1:luck,foo.a3.b2.c1:happy",
    }
    assert shaped(ReplaceNestedFieldValue, config, None, value) == (None, expected)
