"""A trial reads topics: whoever may create the connector may try it, and the audit log has whose records were read."""

from .conftest import Guarded, basic

PATH = "/connector-plugins/Known/config/try"


def body(name: str = "a2", **more: object) -> dict[str, object]:
    return {"config": {"name": name, "topics": "lines", "connector.class": "Known"}, **more}


def test_a_configuration_is_tried_only_under_a_name_one_may_use(guarded: Guarded, herder) -> None:
    client = guarded.serve()
    assert client.put(PATH, headers=basic("edna"), json=body()).status_code == 200
    refused = client.put(PATH, headers=basic("edna"), json=body("b1"))
    assert refused.status_code == 403
    assert 'role editor for connector "b1"' in refused.json()["message"]
    for user in ("vera", "otto"):
        assert client.put(PATH, headers=basic(user), json=body()).status_code == 403
    assert client.put(PATH, json=body()).status_code == 401
    assert [request.config["name"] for request in herder.trials] == ["a2"]


def test_it_is_a_line_of_the_audit_log(guarded: Guarded) -> None:
    client = guarded.serve()
    client.put(PATH, headers=basic("edna"), json=body())
    client.put(PATH, headers=basic("edna"), json=body(topic="others"))
    client.put(PATH, headers=basic("edna"), json=body(samples=[{"value": "s3cret"}]))
    client.put(PATH, headers=basic("edna"), json=body("b1"))
    found = [(line["connector"], line.get("changed"), line["status"]) for line in guarded.lines()]
    assert found == [
        ("a2", {"tried": "lines"}, 200),
        ("a2", {"tried": "others"}, 200),
        ("a2", {"tried": "samples"}, 200),
        ("b1", None, 403),
    ]
    assert "s3cret" not in guarded.log.read_text()
