"""YAML as it is read here: with lines, and without surprises."""

import math

import pytest

from connect.cli._yaml import YamlError, read_yaml


@pytest.fixture
def read(tmp_path):
    def of(text):
        path = tmp_path / "a.yaml"
        path.write_text(text)
        return read_yaml(str(path))

    return of


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1", 1),
        ("-1", -1),
        ("010", 10),
        ("0x1F", 31),
        ("0o17", 15),
        ("1_000", "1_000"),
        ("1.50", 1.5),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("-.inf", -math.inf),
        ("true", True),
        ("False", False),
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("~", None),
        ("null", None),
        ("", None),
        ("'1'", "1"),
        ('"true"', "true"),
        ("!!str 5", "5"),
        ("!!int 5", 5),
        ("2026-01-02", "2026-01-02"),
        ("12:30:00", "12:30:00"),
        ("!!binary /w==", b"\xff"),
        ("|\n  a\n  b\n", "a\nb\n"),
    ],
)
def test_scalars_are_those_of_the_core_schema(read, written, value):
    found = read(f"a: {written}").plain()["a"]
    assert (found, type(found)) == (value, type(value))
    assert math.isnan(read("a: .NaN").plain()["a"])


def test_everything_knows_its_line_and_how_it_was_written(read):
    found = read("a:\n  b: 1.50\n  c:\n    - x\n    - y\n")
    assert found.at(("a", "b")).line == 2
    assert found.at(("a", "b")).source == "1.50"
    assert found.at(("a", "c")).value[1].line == 5
    assert found.at(("a", "nothing", "more")).line == 1
    assert found.value["a"].place.endswith("a.yaml:1")


def test_anchors_and_merges(read):
    found = read("base: &base {a: 1, b: 2}\nother: {<<: *base, b: 3}\nlist: {<<: [*base, {c: 4}], d: 5}\nsame: *base\n")
    assert found.plain() == {
        "base": {"a": 1, "b": 2},
        "other": {"a": 1, "b": 3},
        "list": {"a": 1, "b": 2, "c": 4, "d": 5},
        "same": {"a": 1, "b": 2},
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: 2\na: 3\n", 'a.yaml:3: "a" stands on line 1 too'),
        ("a: [1\nb: 2\n", "a.yaml:2: this is not YAML"),
        ("a:\n\t- 1\n", "a.yaml:2: this is not YAML"),
        ("a: 1\n---\nb: 1\n", "a.yaml:2: this is not YAML"),
        ("", "a.yaml: the file is empty"),
        ("a: 1\nb: !!python/name:os.system x\n", "a.yaml:2: the tag"),
        ("a: !!binary §\n", "a.yaml:1: this is not base64"),
        ("a: 1\n[1]: 2\n", "a.yaml:2: a key is text"),
        ("a: 1\n<<: 5\n", "a.yaml:2: << needs another mapping"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(read, text, said):
    with pytest.raises(YamlError) as refused:
        read(text)
    assert said in str(refused.value)


def test_a_file_that_is_not_there_or_no_text(tmp_path):
    with pytest.raises(YamlError, match="no such file"):
        read_yaml(str(tmp_path / "nowhere.yaml"))
    (tmp_path / "b.yaml").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(YamlError, match="not UTF-8"):
        read_yaml(str(tmp_path / "b.yaml"))
