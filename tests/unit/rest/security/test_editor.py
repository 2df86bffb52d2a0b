"""The editor of a configuration honours roles, and goes on where a name is not its reader's."""

from typing import Any
from urllib.parse import urlencode

import pytest

from .conftest import basic

Client = Any
CONFIG = {"connector.class": "Known", "pin": "1234567", "name": "b1"}


@pytest.fixture(autouse=True)
def connectors(herder) -> None:
    herder.configs["b1"] = dict(CONFIG)


def sent(client: Client, path: str, who: str, **fields: str) -> Any:
    headers = {**basic(who), "Content-Type": "application/x-www-form-urlencoded"}
    return client.post(path, content=urlencode(fields), headers=headers)


def test_a_name_that_is_not_ones_own_is_an_error_of_the_name(client: Client, herder) -> None:
    fields = {"key:connector.class": "Known", "key:name": "b2", "key:mode": "typed"}
    said = sent(client, "/ui/check", "edna", **fields).json()
    assert 'role editor for connector "b2"' in said["errors"]["name"][0]
    assert herder.validated == [{"connector.class": "Known", "mode": "typed"}]
    assert sent(client, "/ui/check", "edna", **{**fields, "key:name": "a2"}).json()["errors"] == {}
    assert sent(client, "/ui/new", "edna", **fields, do="create").status_code == 400
    assert "b2" not in herder.configs


@pytest.mark.promise("P8")
def test_who_may_not_change_a_connector_neither_edits_it_nor_lists_with_its_secrets(client: Client, herder) -> None:
    path = "/ui/connectors/b1/edit"
    fields = {"key:connector.class": "Known", "key:pin": "[hidden]", "name": "b1"}
    assert client.get(path, headers=basic("edna")).status_code == 403
    for do in ("store", "check", "list:name"):
        assert sent(client, path, "edna", **fields, do=do).status_code == 403
    assert "role editor" in sent(client, "/ui/check", "edna", **fields).json()["message"]
    assert herder.validated == []
    assert sent(client, "/ui/new", "vera", **fields, do="create").status_code == 403
    assert herder.configs == {"b1": CONFIG}
