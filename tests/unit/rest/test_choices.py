"""The values that a key could have: which keys there are, what is answered, and what the configuration may hold."""

import pytest

from connect.herder.choices import Choices
from connect.telemetry.redaction import MASK

PATH = "/connector-plugins/Known/config"


@pytest.fixture(autouse=True)
def listing(herder) -> None:
    herder.listed = {"name": Choices(["a", "b"], truncated=True), "pin": Choices([], message="The database is away.")}
    herder.configs["orders"] = {"connector.class": "Known", "name": "orders", "pin": "1234567"}


def test_the_keys_with_values_are_told(client) -> None:
    assert client.get(f"{PATH}/choices").json() == {"keys": ["name", "pin"]}
    assert client.get("/connector-plugins/Nobody/config/choices").status_code == 404


def test_values_are_listed_or_it_is_said_why_not(client, herder) -> None:
    answer = client.put(f"{PATH}/name/choices", json={"url": "x", "port": 5432})
    assert answer.json() == {"key": "name", "values": ["a", "b"], "truncated": True, "message": None}
    assert herder.validated == [{"connector.class": "Known", "url": "x", "port": "5432"}]
    answer = client.put(f"{PATH}/pin/choices", json={})
    assert answer.json() == {"key": "pin", "values": [], "truncated": False, "message": "The database is away."}
    assert client.put(f"{PATH}/transforms.a%2Fb.type/choices", json={}).json()["key"] == "transforms.a/b.type"


def test_another_class_than_that_of_the_path_is_refused(client) -> None:
    assert client.put(f"{PATH}/name/choices", json={"connector.class": "Other"}).status_code == 400
    assert client.put(f"{PATH}/name/choices", json=["a"]).status_code == 400


@pytest.mark.promise("P8")
def test_a_stored_secret_takes_the_place_of_its_mask_where_the_connector_is_the_callers(client, herder) -> None:
    masked = {"connector.class": "Known", "name": "orders", "pin": MASK}
    assert client.put(f"{PATH}/name/choices", json=masked).status_code == 200
    assert herder.validated[-1]["pin"] == "1234567"
    client.put(f"{PATH}/name/choices", json={**masked, "name": "others"})
    assert herder.validated[-1]["pin"] == MASK
