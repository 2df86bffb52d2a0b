"""A configuration on a page: the same in a form, as JSON and as properties, checked, listed, and stored unharmed."""

import html
import json
from concurrent.futures import Future
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect.herder.choices import Choices
from connect.herder.errors import HerderError
from connect.pipeline.findings import Entry, KeyDefinition, KeyValue, Validation
from rest.ui import forms
from rest.ui.notations import NOTATIONS, Written, written

from .fake_herder import done
from .page_reader import FORM, Text, fields, pressed, shown

MASK = "[hidden]"
CONFIG = {
    "connector.class": "Known",
    "name": "orders",
    "pin": "1234567",
    "tables": "a,b",
    "schema": "",
    "query": "SELECT 1\r\nFROM t",
    "note": "x",
    "odd": "two\nlines",
    "file": "one line\n",
    "other.file": "another\r",
    "delimiters": "x\x0b|\x0c|\x1e|\x85|\u2028x",
}
EDIT = "/ui/connectors/orders/edit"


def key(name: str, kind: str = "STRING", group: str = "Common") -> KeyDefinition:
    return KeyDefinition(name, kind, name == "name", None, "MEDIUM", f"About {name}.", group, "NONE", name, [], 1)


DEFINITIONS = [
    *map(key, ("connector.class", "name", "mode", "schema", "query")),
    key("pin", "PASSWORD"),
    key("tables", "LIST"),
    key("bucket"),
    key("batch.size", "INT"),
]


@pytest.fixture(autouse=True)
def cluster(herder, monkeypatch):
    """It knows these keys, wants a name, and refuses a batch that is not a number; tables and buckets can be listed."""

    def validate(config):
        errors = {
            "name": [] if config.get("name") else ["A name is missing."],
            "batch.size": [] if config.get("batch.size", "1").isdigit() else ["That is not a number."],
        }
        entries = [
            Entry(one, KeyValue(one.name, config.get(one.name), [], errors.get(one.name, []))) for one in DEFINITIONS
        ]
        if "unknown" in config:
            entries.append(Entry(None, KeyValue("unknown", config["unknown"], [], ["Nobody knows it."])))
        herder.validated.append(config)
        return done(Validation("Known", "source", entries, [], [], []))

    monkeypatch.setattr(herder, "validate", validate)
    herder.settings["Known"] = [(one.name, one.type) for one in DEFINITIONS]
    herder.listed = {"tables": Choices(["a", "c", "d"]), "bucket": Choices(["one", "two"], truncated=True)}
    herder.configs["orders"] = dict(CONFIG)


def sent_by(page: str) -> dict[str, list[str]]:
    """What a browser sends of the form of a page that nobody touched."""
    found: dict[str, list[str]] = {}
    parsed = Text(page)
    texts = iter(page.split("<textarea")[1:])
    for tag, attrs in parsed.elements:
        if tag == "input" and attrs.get("name") and attrs.get("type") != "checkbox":
            value = attrs.get("value") or ""
            if attrs.get("type") != "hidden":  # a field of one line has no line ends
                value = value.replace("\r", "").replace("\n", "")
            found.setdefault(attrs["name"], []).append(value)
        if tag == "textarea":
            text = html.unescape(next(texts).partition(">")[2].partition("</textarea>")[0]).removeprefix("\n")
            found.setdefault(attrs["name"], []).append(text.replace("\r\n", "\n").replace("\r", "\n"))
    return {name: [value.replace("\n", "\r\n") for value in values] for name, values in found.items()}


def sends(client, path, fields):
    return client.post(path, content=urlencode(fields, doseq=True), headers=FORM)


# Notations.


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@given(st.dictionaries(TEXTS, TEXTS), st.sampled_from([name for name in NOTATIONS if name != "form"]))
def test_a_configuration_is_read_as_it_was_shown(config: dict[str, str], notation: str) -> None:
    text = Written("form", config).turned(notation).shown
    read = written({"as": [notation], "text": [text]})
    assert (dict(read.config), read.problem) == (config, "")


@pytest.mark.parametrize(
    ("notation", "text", "problem"),
    [
        ("json", "{", "This is not JSON: Expecting property name enclosed in double quotes (line 1, column 2)."),
        ("json", "[]", "This is no configuration."),
        ("json", '{"a": "b", "a": "c"}', '"a" is written twice.'),
        ("json", '{"a": ["b"]}', 'The value of "a" is not text.'),
        ("json", '{"a": NaN}', "This is not JSON: NaN is not a number."),
        ("json", "[" * 100_000, "This is not JSON: it is nested too deeply."),
        ("properties", "a=b\nc=\\u12", "This is not a properties file: line:2: a \\u escape"),
        ("properties", "a=b\n\na=c", '"a" is written twice, in lines 1 and 3.'),
    ],
)
def test_what_cannot_be_read_is_said_with_its_place_and_stays(notation: str, text: str, problem: str) -> None:
    read = written({"as": [notation], "text": [text]})
    assert read.problem.startswith(problem)
    assert read.shown == text
    assert read.turned("form") == read


def test_json_is_read_as_the_interface_reads_it() -> None:
    text = '{"name": "n", "config": {"a": 1.50, "b": true, "c": null, "d": "e"}}'
    assert written({"as": ["json"], "text": [text]}).config == {"name": "n", "a": "1.50", "b": "true", "d": "e"}


def test_values_that_were_picked_join_those_that_are_there() -> None:
    sent = {"key:tables": ["a, b"], "pick:tables": ["b", "c"], "key:more": [""], "pick:more": ["x"]}
    assert forms.written(sent) == ({"tables": "a,b,c", "more": "x"}, "")


# Editing.


@pytest.mark.parametrize("notation", NOTATIONS)
def test_what_nobody_touches_does_not_change(client, herder, notation: str) -> None:
    page = client.get(f"{EDIT}?as={notation}").text
    assert "1234567" not in page
    answer = sends(client, EDIT, {**sent_by(page), "do": ["store"]})
    assert answer.headers["Location"] == "/ui/connectors/orders?done=configure"
    assert herder.configs["orders"] == CONFIG


@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.parametrize("other", NOTATIONS)
def test_another_notation_has_what_was_typed(client, herder, notation: str, other: str) -> None:
    sent = sent_by(client.get(f"{EDIT}?as={notation}").text)
    if notation == "form":
        sent["key:mode"] = ["typed"]
    else:
        sent["text"] = [
            sent["text"][0].replace('"note"', '"mode": "typed", "note"').replace("note=", "mode=typed\nnote=")
        ]
    page = sends(client, EDIT, {**sent, "do": [f"as:{other}"]}).text
    assert "mode" not in herder.configs["orders"]
    sends(client, EDIT, {**sent_by(page), "do": ["store"]})
    assert herder.configs["orders"] == {**CONFIG, "mode": "typed"}


def test_the_page_of_a_connector_leads_to_its_editor(client) -> None:
    assert EDIT in [attrs.get("href") for tag, attrs in shown(client, "/ui/connectors/orders").elements]
    assert "not found" in str(shown(client, "/ui/connectors/nobody/edit", 404))
    assert sends(client, "/ui/connectors/nobody/edit", {"do": ["store"]}).status_code == 404


def test_an_error_stands_beside_its_field_and_nothing_is_stored(client, herder) -> None:
    sent = {**sent_by(client.get(EDIT).text), "key:batch.size": ["many"]}
    answer = sends(client, EDIT, {**sent, "do": ["store"]})
    assert answer.status_code == 400
    page = Text(answer.text)
    assert "1 thing is wrong. Nothing was stored." in str(page)
    field = fields(page)["key:batch.size"]
    assert (field["value"], field["aria-invalid"]) == ("many", "true")
    described = field["aria-describedby"].split()
    assert described == ["e-batch.size", "d-batch.size"]
    assert set(described) <= {attrs.get("id") for _, attrs in page.elements}
    assert herder.configs["orders"] == CONFIG


def test_the_name_of_a_connector_is_fixed(client, herder) -> None:
    assert "readonly" in fields(shown(client, EDIT))["key:name"]
    text = json.dumps({**CONFIG, "name": "others"})
    answer = sends(client, EDIT, {"as": ["json"], "text": [text], "do": ["store"]})
    assert "cannot be changed. Write orders" in str(Text(answer.text))
    assert herder.configs.keys() == {"orders"}


def test_a_change_of_somebody_else_is_not_overwritten_unseen(client, herder) -> None:
    sent = {**sent_by(client.get(EDIT).text), "key:mode": ["mine"], "do": ["store"]}
    herder.configs["orders"]["note"] = "theirs"
    answer = sends(client, EDIT, sent)
    assert answer.status_code == 400
    assert "Somebody has changed this connector meanwhile." in answer.text
    assert "mode" not in herder.configs["orders"]
    sends(client, EDIT, {**sent_by(answer.text), "do": ["store"]})
    assert (herder.configs["orders"]["mode"], herder.configs["orders"]["note"]) == ("mine", "x")


@pytest.mark.promise("P8")
@pytest.mark.parametrize("notation", NOTATIONS)
def test_the_file_of_a_connector_has_no_secret_and_is_what_the_form_says(client, notation: str) -> None:
    sent = sent_by(client.get(f"{EDIT}?as={notation}").text)
    page = html.unescape(sends(client, EDIT, {**sent, "do": ["check"]}).text)
    assert '"pin": "${env:NAME}"' in page
    assert "connect apply -f orders.json" in page
    assert "curl -X PUT" in page
    assert "http://WORKER:8083/connectors/orders/config" in page
    file = page.partition('id="file">')[2].partition("</pre>")[0]
    assert json.loads(file) == {**CONFIG, "pin": "${env:NAME}"}


@pytest.mark.promise("P8")
def test_neither_undeclared_secrets_nor_passwords_in_urls_are_in_the_file(client) -> None:
    others = "connector.class=Known\nurl=jdbc:x://ada:opensesame@db/shop\napi.token=opensesame\nkept=${file:/a:b}"
    page = html.unescape(
        pressed(client, "/ui/new", **{"key:name": "n", "key:pin": "${file:/a:pin}", "others": others}).text
    )
    file = json.loads(page.partition('id="file">')[2].partition("</pre>")[0])["config"]
    assert "opensesame" not in json.dumps(file)
    assert (file["api.token"], file["kept"], file["pin"]) == ("${env:NAME}", "${file:/a:b}", "${file:/a:pin}")


# Lists.


def test_a_key_that_can_be_listed_has_a_button_and_the_list_keeps_what_was_typed(client, herder) -> None:
    page = shown(client, "/ui/new?class=Known")
    buttons = [attrs.get("value") for tag, attrs in page.elements if tag == "button"]
    assert [value for value in buttons if value and value.startswith("list:")] == ["list:tables", "list:bucket"]
    sent = {
        "key:connector.class": "Known",
        "key:name": "",
        "key:tables": "a,b",
        "key:mode": "typed",
        "do": "list:tables",
    }
    answer = pressed(client, "/ui/new", **sent)
    assert answer.status_code == 200
    page = Text(answer.text)
    assert fields(page)["key:mode"]["value"] == "typed"
    assert herder.validated[-1]["tables"] == "a,b"
    boxes = [attrs["value"] for tag, attrs in page.elements if tag == "input" and attrs.get("name") == "pick:tables"]
    assert boxes == ["c", "d"]
    assert "A name is missing." not in answer.text
    chosen = urlencode([*sent.items(), ("pick:tables", "c"), ("pick:tables", "d"), ("do", "check")])
    page = Text(client.post("/ui/new", content=chosen, headers=FORM).text)
    assert fields(page)["key:tables"]["value"] == "a,b,c,d"


def test_one_of_several_values_is_offered_in_the_field(client) -> None:
    page = Text(pressed(client, EDIT, **{"key:connector.class": "Known", "do": "list:bucket"}).text)
    assert fields(page)["key:bucket"]["list"] == "c-bucket"
    assert "autofocus" in fields(page)["key:bucket"]
    assert [attrs["value"] for tag, attrs in page.elements if tag == "option"] == ["one", "two"]
    assert "The first 2 values" in str(page)


@pytest.mark.promise("P8")
def test_why_nothing_is_listed_is_said_and_a_mask_is_the_stored_secret(client, herder) -> None:
    herder.listed["tables"] = Choices([], message="PostgreSQL refuses the password.")
    sent = {**sent_by(client.get(EDIT).text), "do": ["list:tables"]}
    assert sent["key:pin"] == [MASK]
    page = sends(client, EDIT, sent).text
    assert "PostgreSQL refuses the password." in page
    assert herder.validated[-2]["pin"] == "1234567" or herder.validated[-1]["pin"] == "1234567"
    assert "1234567" not in page


# While one types.


def test_what_is_wrong_is_answered_by_key(client) -> None:
    sent = {"key:connector.class": "Known", "key:name": "", "key:batch.size": "x", "others": "unknown=1\nbad"}
    answer = pressed(client, "/ui/check", **sent)
    assert answer.headers["Cache-Control"] == "no-store"
    said = answer.json()
    assert said["errors"] == {
        "name": ["A name is missing."],
        "batch.size": ["That is not a number."],
        "unknown": ["Nobody knows it."],
    }
    assert said["problem"] == '"bad" is not of the form key=value.'
    assert json.loads(said["file"])["config"]["batch.size"] == "x"


def test_what_cannot_be_read_is_a_problem_and_validates_nothing(client, herder) -> None:
    said = pressed(client, "/ui/check", **{"as": "json", "text": "{", "class": "Known"}).json()
    assert (said["errors"], said["file"]) == ({}, "")
    assert said["problem"].startswith("This is not JSON")
    assert herder.validated == []
    said = pressed(client, "/ui/check", **{"as": "json", "text": "{}", "class": "Known"}).json()
    assert said["errors"]["connector.class"] == ["is missing. Write Known."]


def test_without_an_answer_of_the_cluster_what_was_typed_stays(client, herder, monkeypatch) -> None:
    broken: Future[Validation] = Future()
    broken.set_exception(HerderError("out of order"))
    monkeypatch.setattr(herder, "validate", lambda _: broken)
    sent = {"key:connector.class": "Known", "key:mode": "typed", "do": "create"}
    answer = pressed(client, "/ui/new", **sent)
    assert answer.status_code == 500
    assert "out of order" in answer.text
    assert json.loads(html.unescape(sent_by(answer.text)["text"][0])) == {"connector.class": "Known", "mode": "typed"}
    assert pressed(client, "/ui/check", **sent).json() == {"message": "out of order"}


def test_a_connector_whose_plugin_is_gone_is_still_edited(client, herder, monkeypatch) -> None:
    gone: Future[Validation] = Future()
    gone.set_exception(HerderError("Failed to find any class that implements Connector and which name matches Known"))
    monkeypatch.setattr(herder, "validate", lambda _: gone)
    answer = client.get(EDIT)
    assert "Failed to find any class" in answer.text
    assert json.loads(sent_by(answer.text)["text"][0])["note"] == "x"
    assert "<textarea" not in client.get("/ui/new?class=Known").text
