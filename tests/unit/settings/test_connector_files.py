import pytest

from connect.settings.connector_files import ConnectorFileError, load_connector
from connect.settings.properties import ConfigFileError

EXPECTED = {"name": "orders", "connector.class": "FileStreamSink", "topics": "a,b"}


def write(folder, name: str, text: str | bytes) -> str:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.properties", "name=orders\nconnector.class=FileStreamSink\ntopics=a,\\\n  b\n"),
        ("c.json", '{"name": "orders", "connector.class": "FileStreamSink", "topics": "a,b"}'),
        ("c.json", '{"name": "orders", "config": {"connector.class": "FileStreamSink", "topics": "a,b"}}'),
        ("c.json", ('{"name": "orders", "config": {"connector.class": "FileStreamSink", "topics": "a,b", '
                    '"name": "orders"}, "tasks": [{"connector": "orders", "task": 0}], "type": "sink"}')),
        ("c.properties", '{"name": "orders", "connector.class": "FileStreamSink", "topics": "a,b"}'),
        ("c.json", "name=orders\nconnector.class=FileStreamSink\ntopics=a,b"),
        ("c.json", "\ufeff" + '{"name": "orders", "connector.class": "FileStreamSink", "topics": "a,b"}'),
    ],
)  # fmt: skip
def test_each_form_is_read(tmp_path, name: str, text: str) -> None:
    found = load_connector(write(tmp_path, name, text))
    assert found.config == EXPECTED
    assert found.name == "orders"
    assert found.initial_state is None


def test_json_in_utf_16_is_read(tmp_path) -> None:
    path = write(tmp_path, "c.json", '{"name": "örders"}'.encode("utf-16"))
    assert load_connector(path).name == "örders"


@pytest.mark.parametrize("state", ["PAUSED", "paused", "Paused"])
def test_the_initial_state_is_taken_from_a_request(tmp_path, state: str) -> None:
    path = write(tmp_path, "c.json", f'{{"name": "orders", "config": {{}}, "initial_state": "{state}"}}')
    assert load_connector(path).initial_state == "PAUSED"


def test_beside_plain_settings_initial_state_and_config_are_settings_like_any_other(tmp_path) -> None:
    path = write(tmp_path, "c.json", '{"name": "x", "initial_state": "PAUSED", "config": "{}"}')
    found = load_connector(path)
    assert found.initial_state is None
    assert found.config == {"name": "x", "initial_state": "PAUSED", "config": "{}"}


@pytest.mark.parametrize("form", ["{%s}", '{"name": "x", "config": {%s}}'])
def test_values_are_the_text_that_was_written_and_null_is_not_set(tmp_path, form: str) -> None:
    members = (
        '"name": "x", "a": 3, "b": true, "c": 1.50, "d": 1E+3, "e": null, "f": -0.10, "g": "\\u00e4\\ud83d\\ude00"'
    )
    found = load_connector(write(tmp_path, "c.json", form % members))
    expected = {"name": "x", "a": "3", "b": "true", "c": "1.50", "d": "1E+3", "f": "-0.10", "g": "ä😀"}
    assert found.config == expected


def test_a_name_that_is_a_number_is_its_text(tmp_path) -> None:
    assert load_connector(write(tmp_path, "c.json", '{"name": 5, "config": {"name": "5"}}')).name == "5"


def test_every_key_knows_its_line(tmp_path) -> None:
    path = write(tmp_path, "c.json", '{\n"name": "x",\n"config": {\n  "topics":\n  "a",\n  "tasks.max": 3}}')
    found = load_connector(path)
    assert str(found.where("tasks.max")) == f"{path}:6"
    assert found.where("topics").line == 4
    assert found.where("name").line == 2
    assert found.where("a key that is missing").line == 2
    path = write(tmp_path, "c.properties", "\nname=x\ntopics=\\\n a\n")
    assert load_connector(path).where("topics").line == 3


@pytest.mark.parametrize(
    ("name", "text"), [("c.json", '{"a": 1,\n"name": "x",\n"a": 2}'), ("c.properties", "a=1\nname=x\na=2")]
)
def test_of_a_key_written_twice_the_last_counts_and_both_places_are_known(tmp_path, name: str, text: str) -> None:
    found = load_connector(write(tmp_path, name, text))
    assert found.config["a"] == "2"
    assert found.where("a").line == 3
    assert [position.line for position in found.duplicates["a"]] == [1, 3]


def test_values_do_not_show_when_printed(tmp_path) -> None:
    assert "hunter2" not in repr(load_connector(write(tmp_path, "c.json", '{"name": "x", "password": "hunter2"}')))


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('{"name": "x"\n "a": 1}', 2, '"," is missing'),
        ('{"name": "x",\n "a": 1,}', 2, "this is not JSON"),
        ('{"name": "x",\n "a": }', 2, "this is not JSON"),
        ('{"name": "x",\n "a": NaN}', 2, "NaN is not a number"),
        ('{"name": "x",\n "a": "NaN", "b": 01}', 2, '"," is missing'),
        ('{\n"name" "x"}', 2, '":" is missing'),
        ('{\nname: "x"}', 2, "this is not JSON"),
        ('{\n1: "x"}', 2, "a key must be text"),
        ('{"name": "x",\n "a": "tab\there"}', 2, "this is not JSON"),
        ('{"name": "x",\n "a": "b', 2, "this is not JSON"),
        ('{"name": "x"}\n{"name": "y"}', 2, "move it to its own file"),
        ('[{"name": "x"}]', 1, "a connector is a JSON object"),
        ('// comment\n{"name": "x"}', 1, "a connector is a JSON object"),
        ('{"name": "x",\n "a": {"b": 1}}', 2, 'value of "a" must be text'),
        ('{"name": "x", "config": {\n"a": [1]}}', 2, 'value of "a" must be text'),
        ('{"name": "x",\n "a": "\\ud800"}', 2, "half of a surrogate pair"),
        ('{"name": "x", "config": {\n"name": "y"}}', 2, 'differs from the one beside it'),
        ('{"config": {"name": "x"}}', 1, "has no name"),
        ('{"a": "b"}', 1, "has no name"),
        ('{"a": "b",\n"name": ""}', 2, "has no name"),
        ('{"a": "b",\n"name": null}', 2, "has no name"),
        ('{"name": "x", "config": {},\n"initial_state": "ASLEEP"}', 2, "RUNNING, PAUSED or STOPPED"),
        ('{"name": "x", "config": {},\n"initial_state": 1}', 2, "RUNNING, PAUSED or STOPPED"),
        (b'{"name": "x",\n"a": "\xe4"}', 2, "not UTF-8"),
    ],
)  # fmt: skip
def test_broken_json_is_refused_with_its_line(tmp_path, text: str | bytes, line: int, message: str) -> None:
    path = write(tmp_path, "c.json", text)
    with pytest.raises(ConnectorFileError) as caught:
        load_connector(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(("text", "place"), [("a=b", ""), ("a=b\nname=", ":2"), ("", "")])
def test_properties_without_a_name_are_refused(tmp_path, text: str, place: str) -> None:
    path = write(tmp_path, "c.properties", text)
    with pytest.raises(ConfigFileError) as caught:
        load_connector(path)
    assert str(caught.value) == f'{path}{place}: the connector has no name; add a line "name=..."'


def test_a_workers_file_is_not_taken_for_a_connector_without_a_name(tmp_path) -> None:
    path = write(tmp_path, "worker.properties", "bootstrap.servers=embedded\ngroup.id=a\n")
    with pytest.raises(ConnectorFileError, match="this is a worker's file, not a connector's"):
        load_connector(path)


@pytest.mark.parametrize("name", ["c.yaml", "c.yml"])
def test_yaml_is_not_taken_for_properties(tmp_path, name: str) -> None:
    path = write(tmp_path, name, 'name: x\nconfig:\n  connector.class: FileStreamSink\n  topics: "a"\n')
    with pytest.raises(ConnectorFileError, match="this is YAML.*write the connector as properties or JSON"):
        load_connector(path)


def test_an_unreadable_file_is_refused_with_advice(tmp_path) -> None:
    with pytest.raises(ConfigFileError, match="directory; name a file in it"):
        load_connector(tmp_path)
    with pytest.raises(ConfigFileError, match="no such file; check the path"):
        load_connector(tmp_path / "absent.json")
