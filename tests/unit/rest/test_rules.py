"""What is answered before a resource is asked. The rest of the rules is compared with Java's in tests/conformance."""

import pytest

from rest.app import describe_interface


@pytest.mark.parametrize("name", ["a/b", "a b+c", "ä", "%2F", "a//b", "?#"])
def test_any_name_can_be_reached(client, herder, name: str) -> None:
    made = client.post("/connectors", json={"name": name, "config": {"x": "1"}})
    assert made.status_code == 201
    location = made.headers["location"]
    assert location.startswith("http://worker:8083/connectors/")
    assert client.get(location).json()["name"] == name
    assert client.get(f"{location}/status/").status_code == 200
    assert client.delete(location).status_code == 204
    assert herder.configs == {}


def test_the_sign_that_stands_for_a_slash_is_no_slash_in_a_path(client, herder) -> None:
    herder.configs["a/b"] = {"name": "a/b"}
    assert client.get("/connectors/a%2Fb").status_code == 200
    for path in ("/connectors/a%1Fb", "/connectors/a%1fb"):
        assert client.get(path).status_code == 404
        assert client.delete(path).status_code != 204
    assert herder.configs.keys() == {"a/b"}


def test_a_body_without_a_type_is_refused_where_one_is_taken(client) -> None:
    assert client.put("/connectors/a/config", content=b"{}").status_code == 415
    assert client.put("/connectors/a/pause", content=b"{}").status_code == 202
    chunked = client.put("/connectors/a/config", headers={"Transfer-Encoding": "chunked"})
    assert chunked.status_code == 415


def test_a_type_that_is_none_is_said(client) -> None:
    answer = client.get("/connectors", headers={"Content-Type": "bogus"})
    assert (answer.status_code, answer.json()["message"]) == (400, "Content-Type: bogus is not a media type.")


def test_pages_are_for_browsers(client) -> None:
    page = client.get("/docs", headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert "PATCH" in page.text
    assert not [one for one in ("http:", "https:") if one in page.text]  # nothing from another host


@pytest.mark.parametrize("accept", ["text/plain", "application/openmetrics-text; version=1.0.0", "application/json"])
def test_metrics_are_for_whatever_a_scraper_accepts(client, accept: str) -> None:
    """Not every one adds */* to what it would like best."""
    answer = client.get("/metrics", headers={"Accept": accept})
    assert (answer.status_code, answer.headers["content-type"][:10]) == (200, "text/plain")
    assert client.get("/connectors", headers={"Accept": "text/plain"}).status_code == 406
    assert client.put("/metrics").status_code == 405


def test_every_operation_is_described(client) -> None:
    found = client.get("/openapi.json").json()
    operations = [(method, path) for path, methods in found["paths"].items() for method in methods]
    assert len(operations) == 48  # and the two among workers
    assert ("put", "/connectors/{connector}/fence") not in operations
    known = found["components"]["schemas"]
    for text in [str(found["paths"])]:
        names = {part.split("'")[0] for part in text.split("#/components/schemas/")[1:]}
        assert names <= known.keys()
    assert "422" not in str(found["paths"])


def test_the_interface_can_be_described_without_a_worker(client) -> None:
    assert describe_interface() == client.get("/openapi.json").json()
