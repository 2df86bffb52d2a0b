"""Whom it is granted reads secrets as they were written, so that Terraform's provider finds what it sent."""

from typing import Any

import pytest

from .conftest import basic

MASK = "[hidden]"
SENT = {"connector.class": "Known", "pin": "1234567", "url": "https://me:pa55@host/", "x.token": "${env:X}"}
STORED = {**SENT, "name": "a1"}


@pytest.fixture
def sent(client: Any, herder) -> Any:
    """Asks as somebody."""
    herder.configs |= {"b1": {**SENT, "name": "b1"}}
    return lambda who, method, path, body=None: client.request(method, path, json=body, headers=basic(who))


@pytest.mark.promise("P8")
def test_terraforms_provider_finds_what_it_sent(sent: Any) -> None:
    """Mongey's, whose library (ricardo-ch v3) reads after a PUT until each value is the one that it sent."""
    assert sent("tess", "POST", "/connectors", {"name": "a1", "config": SENT}).status_code == 201
    for pin in ("7654321", "1234567"):
        new = {**SENT, "pin": pin}
        assert sent("tess", "PUT", "/connectors/a1/config", new).json()["config"] == {**new, "name": "a1"}
        found = sent("tess", "GET", "/connectors/a1/config").json()
        assert found == {**new, "name": "a1"}
    assert sent("tess", "GET", "/connectors/a1").json()["config"] == STORED  # its next plan reads this
    assert sent("tess", "GET", "/connectors?expand=info").json()["a1"]["info"]["config"] == STORED


@pytest.mark.promise("P8")
def test_nobody_else_reads_them_nor_do_they_elsewhere(sent: Any, herder) -> None:
    sent("tess", "POST", "/connectors", {"name": "a1", "config": SENT})
    masked = {**STORED, "pin": MASK, "url": f"https://me:{MASK}@host/"}
    for who in ("vera", "otto", "edna", "ada"):  # an admin who needs them grants them to themselves
        assert sent(who, "GET", "/connectors/a1/config").json() == masked
    assert sent("tess", "GET", "/connectors/b1/config").json()["pin"] == MASK
    # What tasks are given may hold what config providers gave.
    herder.task_configs = lambda name: [{**herder.configs[name], "task.class": "Task"}]
    assert sent("tess", "GET", "/connectors/a1/tasks").json()[0]["config"] == {**masked, "task.class": "Task"}


def test_who_reads_secrets_may_write_masks_too(sent: Any, herder) -> None:
    sent("tess", "POST", "/connectors", {"name": "a1", "config": SENT})
    assert sent("tess", "PUT", "/connectors/a1/config", {**STORED, "pin": MASK, "y": "z"}).status_code == 200
    assert herder.configs["a1"] == {**STORED, "y": "z"}
