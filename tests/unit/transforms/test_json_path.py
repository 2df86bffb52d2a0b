"""Paths in the notation of JsonPath."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.json_path import parse

STORE = {
    "book": [
        {"title": "A", "price": 8.95, "tags": ["x", "y"], "isbn": None},
        {"title": "B", "price": 12, "tags": [], "isbn": "0-1"},
        {"title": "C", "price": Decimal("22.99"), "author": {"name": "Tolstoy"}},
    ],
    "bicycle": {"price": 19, "color": "red", "a.b": 1, "it's": 2},
    "limit": 10,
    "empty": "",
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$.bicycle.color", "red"),
        ("bicycle.color", "red"),
        ("$['bicycle'][\"color\"]", "red"),
        ("$.bicycle['a.b']", 1),
        ("$.bicycle['it\\'s']", 2),
        ("$.[ 'limit' ]", 10),
        ("$.book[0].title", "A"),
        ("$.book[-1].author.name", "Tolstoy"),
        ("$.book[7].title", None),
        ("$.book.title", None),
        ("$.no.color", None),
        ("$.limit.x", None),
        ("$", STORE),
    ],
)
def test_definite_paths(path: str, found: Any) -> None:
    made = parse(path)
    assert made.is_definite
    assert made.one(STORE) == found


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$.book[*].title", ["A", "B", "C"]),
        ("$.book[0,2].title", ["A", "C"]),
        ("$.book[1:].title", ["B", "C"]),
        ("$.book[:2].title", ["A", "B"]),
        ("$.book[::2].title", ["A", "C"]),
        ("$.bicycle['color','price']", ["red", 19]),
        ("$..title", ["A", "B", "C"]),
        ("$..name", ["Tolstoy"]),
        ("$.book.*.price", [8.95, 12, Decimal("22.99")]),
    ],
)
def test_paths_to_several_values(path: str, found: list[Any]) -> None:
    made = parse(path)
    assert not made.is_definite
    assert made.all(STORE) == found


@pytest.mark.parametrize(
    ("condition", "titles"),
    [
        ("@.price < 10", "A"),
        ("@.price<=12", "AB"),
        ("@.price > $.limit", "BC"),
        ("@.price >= 22.99", "C"),
        ("@.price == 12.0", "B"),
        ("10 < @.price", "BC"),
        ("@.title == 'A' || @.title == \"C\"", "AC"),
        ("@.title != 'A' && @.price < 20", "B"),
        ("!(@.title == 'A')", "BC"),
        ("!@.author", "AB"),
        ("@.author", "C"),
        ("@.author.name =~ /tol.*/i", "C"),
        ("@.author.name =~ /tol.*/", ""),
        ("@.isbn", "B"),
        ("@.isbn == null", "AC"),
        ("@.isbn != null", "B"),
        ("@.isbn != '0-1'", "AC"),
        ("@.title in ['A', 'B', 1]", "AB"),
        ("@.title nin ['A']", "BC"),
        ("@.tags anyof ['y']", "A"),
        ("@.tags noneof ['y']", "B"),
        ("@.tags subsetof ['x', 'y', 'z']", "AB"),
        ("@.tags size 2", "A"),
        ("@.tags empty true", "B"),
        ("@.price == '12'", ""),
        ("@.title < 3", ""),
        ("@.price == true", ""),
        ("@..name", "C"),
        ("(@.price < 10) || (@.price > 20 && @.author)", "AC"),
    ],
)
def test_conditions(condition: str, titles: str) -> None:
    assert "".join(parse(f"$.book[?({condition})].title").all(STORE)) == titles


def test_a_condition_may_be_asked_of_the_object_itself() -> None:
    path = parse("$[?(@.limit == 10 && @.bicycle.color == 'red')]")
    assert path.all(STORE) == [STORE]
    assert path.all({"limit": 10}) == []
    assert parse("$.bicycle[?(@.price == 19)]").all(STORE) == [STORE["bicycle"]]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("$.", "position 3 the name of a field is expected"),
        ("$.a[", "position 5 a name in quotes, a number"),
        ("$['a", "' is not closed"),
        ("$.a b", "position 5 a dot or a bracket is expected"),
        ("$.a.length()", "position 5 length.. is a function"),
        ("$[?(@.a == )]", "position 12 a path from @ or"),
        ("$[?(@.a = 1)]", r"position 9 \) is expected"),
        ("$[?(1)]", "an operator such as == is expected"),
        ("$[?(@.a =~ /x)]", "is not closed by /"),
        ("$[?(@.a =~ /x/q)]", "has the flags q"),
        ("$[?(@.a =~ @.b)]", "followed by a regular expression"),
        ("$[?(@.a =~ /(/)]", "not a regular expression"),
        ("$[::0]", "must be 1 or more"),
        ("$[?(@.a in [1,])]", "position 15"),
        (f"$[?({'(' * 5000}@.a", "nested too deeply"),
    ],
)
def test_what_is_no_path(path: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse(path)


@given(st.text("$.[]()?@'\"ab01=!<>&|,:*/ ", max_size=20))
def test_every_text_is_a_path_or_a_value_error(text: str) -> None:
    try:
        path = parse(f"${text}")
    except ValueError:
        return
    path.all(STORE)
    path.one(STORE)
