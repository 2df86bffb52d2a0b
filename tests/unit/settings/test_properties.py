import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from connect.settings.properties import Position, PropertiesError, dumps, load, loads


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("a = b ", {"a": "b "}),
        ("a:b\nc d\ne\n", {"a": "b", "c": "d", "e": ""}),
        ("a==b\nc = : d", {"a": "=b", "c": ": d"}),
        ("# no\n  ! no\n\n \t\f\na=b#c", {"a": "b#c"}),
        ("a=1\rb=2\r\nc=3", {"a": "1", "b": "2", "c": "3"}),
        (r"a\=b\:c\ d=e", {"a=b:c d": "e"}),
        ("topics=one,\\\n    two,\\\n\t three\nx=y", {"topics": "one,two,three", "x": "y"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("a=b\\\n# not a comment", {"a": "b# not a comment"}),
        ("# a comment does not go on \\\na=b", {"a": "b"}),
        (r"a=\t\n\r\f\\\q\u00e4", {"a": "\t\n\r\f\\qä"}),
        ("a=\\u00\\\n  e4", {"a": "ä"}),
        (r"a=\ud83d\ude00\uD83D\uDE00", {"a": "😀😀"}),
        (r"path=C:\\temp\new", {"path": "C:\\temp\new"}),
        ("a=b\\", {"a": "b"}),
        ("a=b\\\n", {"a": "b"}),
        ("=x", {"": "x"}),
        ("\\\n#x", {}),
        ("", {}),
    ],
)
def test_text_is_read_as_java_reads_it(text: str, expected: dict[str, str]) -> None:
    assert dict(loads(text)) == expected


def test_every_key_knows_its_line() -> None:
    properties = loads("# head\n\nname=x\ntopics=a,\\\n  b\n\nlast=1\n", "c.properties")
    assert properties.where("topics") == Position("c.properties", 4)
    assert str(properties.where("last")) == "c.properties:7"
    with pytest.raises(KeyError):
        properties.where("absent")


def test_of_a_key_written_twice_the_last_counts_and_both_places_are_known() -> None:
    properties = loads("a=1\nb=2\na=3\n", "w.properties")
    assert properties["a"] == "3"
    assert properties.where("a").line == 3
    assert properties.duplicates == {"a": [Position("w.properties", 1), Position("w.properties", 3)]}


def test_bytes_are_utf8_and_else_latin_1() -> None:
    assert loads("a=ä€".encode())["a"] == "ä€"
    assert loads("a=ä".encode("latin-1"))["a"] == "ä"
    assert loads("\ufeffa=b".encode())["a"] == "b"


def test_values_do_not_show_when_printed() -> None:
    assert "hunter2" not in repr(loads("password=hunter2"))


@pytest.mark.parametrize("escape", [r"\u12", r"\u12g4", r"\u", r"\u 041", "\\ud83d", "\\ude00", "\\ud83dx"])
def test_a_malformed_escape_is_refused_with_its_line_and_without_the_value(escape: str) -> None:
    with pytest.raises(PropertiesError, match=r"^w\.properties:3: ") as caught:
        loads(f"a=b\nc=hunter2\\\n  {escape}", "w.properties")
    assert "hunter2" not in str(caught.value)


def test_what_is_not_text_is_refused_with_its_line() -> None:
    with pytest.raises(PropertiesError, match=r"^w\.properties:2: there is a NUL byte"):
        loads(b"a=b\nc=\0", "w.properties")


def test_an_unreadable_file_is_refused_with_advice(tmp_path) -> None:
    with pytest.raises(PropertiesError, match="directory; name a file in it"):
        load(tmp_path)
    with pytest.raises(PropertiesError, match="no such file; check the path"):
        load(tmp_path / "absent.properties")
    (tmp_path / "file").touch()
    with pytest.raises(PropertiesError, match=r"cannot be read \(Not a directory\)"):
        load(tmp_path / "file" / "below")


def test_a_file_is_named_as_it_was_asked_for(tmp_path) -> None:
    path = tmp_path / "w.properties"
    path.write_bytes(b"\r\na=b\r\n")
    assert str(load(path).where("a")) == f"{path}:2"


TEXT = st.text(st.one_of(st.sampled_from(" \t\f\n\r\\\\=:#!,a"), st.characters(exclude_categories=["Cs"])))


@given(st.dictionaries(TEXT, TEXT))
@example({"": "", " a": " b ", "#c": "#d", "e f": "C:\\temp", "g": "one\n two"})
def test_what_is_written_is_read_again(values: dict[str, str]) -> None:
    assert dict(loads(dumps(values))) == values


def test_what_needs_no_backslash_has_none() -> None:
    assert dumps({"connection.url": "jdbc:postgresql://db/shop?ssl=true#x", "query": "SELECT 1"}) == (
        "connection.url=jdbc:postgresql://db/shop?ssl=true#x\nquery=SELECT 1\n"
    )
