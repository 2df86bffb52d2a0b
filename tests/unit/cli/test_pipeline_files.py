"""Folders of connectors in YAML and other forms: what is in them, what placeholders become, and what is wrong where."""

import jsonschema_rs
import pytest

from connect.cli._pipeline_files import Values, found_in, load_pipelines, load_yaml, single
from connect.cli._problems import Problems
from connect.cli._yaml import YamlError, read_yaml
from connect.cli.plan import SCHEMA
from connect.errors import ConfigError
from connect.settings.properties import ConfigFileError

ONE = """\
name: orders
initial_state: paused
config:
  connector.class: FileStreamSink
  topics: [orders, "returns"]
  batch.size: 0100
  exactly.once: true
  empty: ""
  unset: null
  consumer.override:
    max.poll.records: 5
    a: {b: 1.50}
"""


@pytest.fixture
def write(tmp_path):
    """Writes a file and gives its path."""

    def make(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)

    return make


def test_a_yaml_file_is_a_connector_as_it_is_written(write):
    (file,) = load_yaml(write("orders.yaml", ONE))
    assert file.config == {
        "name": "orders",
        "connector.class": "FileStreamSink",
        "topics": "orders,returns",
        "batch.size": "0100",
        "exactly.once": "true",
        "empty": "",
        "consumer.override.max.poll.records": "5",
        "consumer.override.a.b": "1.50",
    }
    assert file.initial_state == "PAUSED"
    assert (file.where("consumer.override.a.b").line, file.where("missing").line) == (12, 1)


def test_a_yaml_file_may_have_several(write):
    text = "connectors:\n- name: a\n  config: {connector.class: A}\n- name: b\n  config: {connector.class: B}\n"
    path = write("both.yaml", text)
    assert [(file.name, file.where("name").line) for file in load_yaml(path)] == [("a", 2), ("b", 4)]
    with pytest.raises(ConfigFileError, match="has 2 connectors"):
        single(path)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("name: a\n", ':1: the connector has no "config"'),
        ("config: {}\n", ':1: the connector has no "name"'),
        ("name: null\nconfig: {}\n", ':1: "name" is a text.'),
        ("name: a\nconfig: {}\ntopics: b\n", ':3: "topics" is not known here'),
        ("name: a\nconfig: []\n", ":2: config is written as keys and values"),
        ("name: a\nconfig:\n  a.b: 1\n  a: {b: 2}\n", ':4: "a.b" stands on line 3 too'),
        ("name: a\nconfig:\n  a: [[1]]\n", ':3: a part of "a" is not a text'),
        ("name: a\nconfig: {name: b}\n", ':2: the "name" in "config" differs'),
        ("name: a\nconfig: {}\ninitial_state: on\n", ':3: "initial_state" is RUNNING'),
        ("connectors: []\n", ':1: "connectors" is a list'),
        ("connectors: [{name: a, config: {}}]\nname: b\n", ':2: "name" is not known beside'),
        ("name: a\nconfig: {a: 1\n", "this is not YAML"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(write, text, wrong):
    path = write("wrong.yaml", text)
    with pytest.raises(YamlError) as raised:
        load_yaml(path)
    assert f"{path}" in str(raised.value)
    assert wrong in str(raised.value)


def test_a_folder_has_the_connectors_below_it_and_nothing_else(write, tmp_path):
    wanted = [write("f/a.yaml", ONE), write("f/b/c.json", "{}"), write("f/b/d.properties", ""), write("f/e.yml", ONE)]
    values = write("f/prod.yaml", "x: 1\n")
    for other in ("f/a.test.yaml", "f/.git/x.yaml", "f/.hidden.json", "f/README.md"):
        write(other, "")
    loose = write("x.txt", "")
    assert list(found_in([str(tmp_path / "f"), loose, "-"], Values.of([values], []))) == [*sorted(wanted), loose, "-"]


def test_placeholders_have_values_of_files_assignments_and_the_environment(write, monkeypatch):
    monkeypatch.setenv("REGION", "eu")
    text = "name: ${{ stage }}-a\nconfig:\n  x: ${{env.REGION}}/${{ folder }}\n  y: ${file:/a:b} ${{ port }}\n"
    files = [write("v1.yaml", "stage: test\nfolder: /one\nport: 080\n"), write("v2.yaml", "folder: /two\n")]
    values = Values.of(files, ["stage=prod=1"])
    problems = Problems([])
    (file,) = load_pipelines(write("p.yaml", text), values, problems)
    assert file.config == {"name": "prod=1-a", "x": "eu//two", "y": "${file:/a:b} 080"}
    assert file.name == "prod=1-a"
    assert problems.errors() == []


@pytest.mark.parametrize(
    "text",
    [
        'name: a\nconfig:\n  file: "x.txt"\n  topics: [b, "${{ c }}"]\n  over: {ride: 1}\n',
        "# A comment.\nconnectors:\n- name: a\n  config: {file: x.txt, topics: 'b,d', over.ride: 1}\n",
        '{"name": "a", "config": {"file": "x.txt", "topics": "b,d", "over.ride": 1}}',
        "name: a\nfile: x.txt\ntopics=b,d\nover.ride=1\n",
    ],
)
def test_standard_input_has_any_of_the_forms(write, monkeypatch, text):
    monkeypatch.setattr("connect.cli._pipeline_files._STDIN", write("stdin", text))
    problems = Problems([])
    (file,) = load_pipelines("-", Values.of([], ["c=d"]), problems)
    assert file.config == {"name": "a", "file": "x.txt", "topics": "b,d", "over.ride": "1"}
    assert problems.errors() == []
    assert single("-").name == "a"


def test_a_key_that_gets_another_value_excuses_the_placeholder_that_it_had(write):
    path = write("p.yaml", "name: a\nconfig: {url: '${{ url }}', batch: 5}\n")
    problems = Problems([])
    file = single(path, Values.of([], []), problems, {"url": "here", "batch": "6"})
    assert file.config == {"name": "a", "url": "here", "batch": "6"}
    assert problems.errors() == []


def test_a_placeholder_without_a_value_is_an_error_with_its_line(write, monkeypatch):
    monkeypatch.delenv("NOWHERE", raising=False)
    problems = Problems([])
    path = write("p.yaml", "name: a\nconfig:\n  x: ${{ folder }}\n  y: ${{ env.NOWHERE }}\n  z: ${{ a || 'b' }}\n")
    (file,) = load_pipelines(path, Values.of([], ["a=1"]), problems)
    first, second, third = problems.errors()
    assert first.startswith(f'{path}:3: connector "a", key "x": ${{{{ folder }}}} has no value. Give it by --values')
    assert second.endswith("the environment has no NOWHERE.")
    assert third.startswith(f'{path}:5: connector "a", key "z": ${{{{ a || \'b\' }}}} has no value.')
    assert file.config["x"] == "${{ folder }}"
    problems.error(file.where("x"), "is not a folder.", key="x", connector="a")  # which would only mislead
    assert len(problems.errors()) == 3


def test_all_names_without_a_value_are_said(write):
    problems = Problems([])
    load_pipelines(write("p.yaml", "name: ${{ a }}-${{ b }}\nconfig: {}\n"), Values(), problems)
    assert len(problems.errors()) == 2


def test_other_forms_have_placeholders_only_where_values_are_given(write):
    path = write("a.properties", "name=a\nx=${{ folder }}\n")
    problems = Problems([])
    assert load_pipelines(path, Values(), problems)[0].config["x"] == "${{ folder }}"
    assert load_pipelines(path, Values.of([], ["folder=/f"]), problems)[0].config["x"] == "/f"


def test_values_are_names_with_texts(write):
    with pytest.raises(YamlError, match=':2: the value of "b" is a text'):
        Values.of([write("v.yaml", "a: 1\nb: [2]\n")], [])
    with pytest.raises(YamlError, match=':3: the value of "c" is a text'):
        Values.of([write("v.yaml", "a: 1\nb:\nc: null\n")], [])
    with pytest.raises(ConfigError, match="NAME=VALUE"):
        Values.of([], ["a"])


@pytest.mark.parametrize(
    ("text", "is_good"),
    [
        (ONE.replace("paused", "PAUSED"), True),
        ("connectors: [{name: a, config: {connector.class: A}}]", True),
        ("connectors: []", False),
        ("name: a", False),
        ("name: a\nconfig: {a: [[1]]}", False),
        ("name: a\nconfig: {}\nother: 1", False),
        ("name: a\nconfig: {}\ninitial_state: ON", False),
    ],
)
def test_the_schema_accepts_what_is_read_and_refuses_what_is_not(write, text, is_good):
    validator = jsonschema_rs.Draft202012Validator(SCHEMA)
    path = write("s.yaml", text)
    assert validator.is_valid(read_yaml(path).plain()) is is_good
    if is_good:
        load_yaml(path)
    else:
        with pytest.raises(YamlError):
            load_yaml(path)
