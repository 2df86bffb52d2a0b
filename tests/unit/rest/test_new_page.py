"""The page of a new connector: its form, what is wrong with it, and the connector that it creates."""

import html

import pytest

from connect.pipeline.findings import Entry, KeyDefinition, KeyValue, Validation

from .fake_herder import done
from .page_reader import Text, fields, pressed, shown

pytestmark = pytest.mark.usefixtures("orders")
# A new connector.


DEFINITIONS = [
    KeyDefinition("name", "STRING", True, None, "HIGH", "Its name.", "Common", "MEDIUM", "Name", [], 1),
    KeyDefinition("pin", "PASSWORD", False, None, "HIGH", "A secret.", "Login", "MEDIUM", "PIN", [], 1),
    KeyDefinition("batch.size", "INT", False, "100", "LOW", "How many.", "Common", "MEDIUM", "Batch", [], 2),
]


@pytest.fixture
def validating(herder, monkeypatch):
    """The herder knows these keys, wants a name, and refuses a batch that is not a number."""

    def validate(config):
        errors = {
            "name": [] if config.get("name") else ["A name is missing."],
            "batch.size": [] if config.get("batch.size", "1").isdigit() else ["That is not a number."],
        }
        values = [KeyValue(one.name, config.get(one.name), [], errors.get(one.name, [])) for one in DEFINITIONS]
        herder.validated.append(config)
        return done(Validation("Known", "source", list(map(Entry, DEFINITIONS, values)), [], [], []))

    monkeypatch.setattr(herder, "validate", validate)


def test_the_catalogue_leads_to_a_form_for_each_connector(client):
    links = [attrs["href"] for tag, attrs in shown(client, "/ui/new").elements if tag == "a"]
    assert "/ui/new?class=org.apache.kafka.connect.file.FileStreamSinkConnector" in links


def test_the_form_has_every_key_and_no_error_before_anything_is_written(client, validating):
    page = shown(client, "/ui/new?class=Known")
    assert fields(page).keys() == {"key:name", "key:pin", "key:batch.size"}
    assert fields(page)["key:pin"]["type"] == "password"
    assert fields(page)["key:batch.size"]["placeholder"] == "100"
    assert "A name is missing." not in str(page)
    assert "Common Name required name Its name. 1 more Batch batch.size How many. Login PIN" in str(page)


def test_what_is_wrong_stands_beside_its_key_and_what_was_written_stays(client, herder, validating):
    sent = {"key:name": "", "key:batch.size": "many", "key:pin": "", "others": "connector.class=Known", "do": "create"}
    answer = pressed(client, "/ui/new", **sent)
    assert answer.status_code == 400
    page = Text(answer.text)
    assert "2 things are wrong. Nothing was created." in str(page)
    assert "That is not a number. batch.size How many." in str(page)
    assert fields(page)["key:batch.size"]["value"] == "many"
    assert herder.configs.keys() == {"orders"}


def test_a_connector_is_created_as_it_was_written(client, herder, validating):
    sent = {"key:name": "new/1", "key:batch.size": "", "others": "connector.class=Known\r\ntransforms=a", "do": "check"}
    checked = pressed(client, "/ui/new", **sent)
    assert "Nothing is wrong with this configuration." in checked.text
    assert "connect apply -f new/1.json" in checked.text
    assert "new/1" not in herder.configs
    made = pressed(client, "/ui/new", **{**sent, "do": "create"})
    assert made.headers["Location"] == "/ui/connectors/new%2F1?done=create"
    assert herder.configs["new/1"] == {"connector.class": "Known", "name": "new/1", "transforms": "a"}


def test_blanks_around_the_name_of_a_new_connector_are_none_of_it(client, herder, validating):
    made = pressed(client, "/ui/new", **{"key:name": " new ", "others": "connector.class=Known", "do": "create"})
    assert made.headers["Location"] == "/ui/connectors/new?done=create"
    assert herder.configs["new"]["name"] == "new"


def test_a_secret_is_in_no_file_that_is_shown(client, validating):
    sent = {"key:name": "n", "key:pin": "7654321", "others": "connector.class=Known"}
    page = html.unescape(pressed(client, "/ui/new", **sent).text)
    assert '"pin": "${env:NAME}"' in page
    assert page.count("7654321") == 1  # in its own field


def test_a_line_that_is_no_key_is_said(client):
    assert "of the form key=value" in pressed(client, "/ui/new", others="transforms").text
