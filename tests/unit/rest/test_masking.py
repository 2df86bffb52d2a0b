"""Secrets are not shown, and what is read may be written back."""

import asyncio
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

import pytest

from connect.herder.errors import HerderError
from connect.herder.secret_keys import Declared

MASK = "[hidden]"
CONFIG = {
    "name": "orders",
    "connector.class": "Known",
    "pin": "4711",
    "token.lifetime": "60",
    "api.token": "t0ps3cret",
    "connection.url": "postgresql://me:pa55word@host/db",
    "other.password": "${file:/etc/orders:password}",
    "topic": "orders",
}
SHOWN = {
    **CONFIG,
    "pin": MASK,
    "api.token": MASK,
    "connection.url": f"postgresql://me:{MASK}@host/db",
}


@pytest.fixture(autouse=True)
def _stored(herder) -> None:
    herder.configs["orders"] = dict(CONFIG)


@pytest.mark.promise("P8")
def test_passwords_are_hidden_wherever_a_configuration_is_read(client) -> None:
    # Known declares pin as PASSWORD, and token.lifetime as a number; nobody knows of api.token.
    assert client.get("/connectors/orders/config").json() == SHOWN
    assert client.get("/connectors/orders").json()["config"] == SHOWN
    assert client.get("/connectors/orders/tasks").json()[0]["config"] == SHOWN
    assert client.get("/connectors?expand=info").json()["orders"]["info"]["config"] == SHOWN


@pytest.mark.promise("P8")
@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("jdbc:postgresql://h/d?user=me&password=top)Se]cr,et}9;9'\"&ssl=true", f"user=me&password={MASK}&ssl=true"),
        ("postgresql://me:to/pSecret99@h/db", f"://me:{MASK}@h/db"),
        ("Driver={x};UID=me;PWD={top;Se}}cret99};Server=h", f";PWD={MASK};Server=h"),
    ],
)
def test_a_password_in_an_address_is_hidden_whole_and_may_be_written_back(
    client, herder, address: str, shown: str
) -> None:
    herder.configs["orders"]["my.address"] = address
    read = client.get("/connectors/orders/config").json()
    assert read["my.address"].endswith(shown)
    assert client.put("/connectors/orders/config", json=read).status_code == 200
    assert herder.configs["orders"]["my.address"] == address


def test_a_plug_in_is_asked_once_for_what_it_declares(client, herder) -> None:
    for _ in range(3):
        client.get("/connectors/orders/config")
    assert herder.asked == [("settings", "Known")]


@pytest.mark.promise("P8")
def test_a_name_that_no_plug_in_has_is_not_remembered(client, herder) -> None:
    """It may be half a megabyte, and another one in each request."""
    for _ in range(2):
        client.patch("/connectors/orders/config", json={"transforms": "t", "transforms.t.type": "x" * 100_000})
    asked = [what for what in herder.asked if what == ("settings", "x" * 100_000)]
    assert len(asked) > 1


def test_a_plug_in_that_did_not_answer_is_asked_again(client, herder, monkeypatch: pytest.MonkeyPatch) -> None:
    # It shares a process with a connector that hung, for example, and was killed with it.
    monkeypatch.setattr("rest.masking._AGAIN_S", 0.02)
    herder.settings["Known"].append(("serial", "PASSWORD"))
    herder.configs["orders"] |= {"serial": "77777"}
    answers = herder.plugin_settings

    def killed(name: str, version: str | None = None) -> Future[Any]:
        herder.plugin_settings = answers
        failed: Future[Any] = Future()
        failed.set_exception(HerderError("The connector's process was killed."))
        return failed

    herder.plugin_settings = killed
    client.get("/connectors/orders/config")
    client._runner.run(asyncio.sleep(0.1))
    assert client.get("/connectors/orders/config").json() == {**SHOWN, "serial": MASK}


def test_what_is_read_may_be_written_back(client, herder) -> None:
    assert client.put("/connectors/orders/config", json={**SHOWN, "topic": "others"}).status_code == 200
    assert herder.configs["orders"] == {**CONFIG, "topic": "others"}
    assert client.patch("/connectors/orders/config", json={"pin": MASK, "topic": None}).status_code == 200
    assert herder.configs["orders"] == {key: value for key, value in CONFIG.items() if key != "topic"}


@pytest.mark.parametrize(
    ("name", "change"),
    [("others", {"name": "others"}), ("orders", {"new.password": MASK}), ("orders", {"connection.url": f"x:{MASK}@y"})],
)
def test_a_mask_that_stands_for_nothing_is_refused(client, herder, name: str, change: dict[str, str]) -> None:
    answer = client.put(f"/connectors/{name}/config", json={**SHOWN, **change})
    assert answer.status_code == 400
    assert MASK in answer.json()["message"]
    assert herder.configs == {"orders": CONFIG}


def test_a_form_may_validate_what_it_read(client, herder) -> None:
    assert client.put("/connector-plugins/Known/config/validate", json=SHOWN).status_code == 200
    assert herder.validated == [CONFIG]


#: A plug-in to which the same keys are not secrets, and one that does not know them.
OTHERS = {"Open": [("name", "STRING"), ("pin", "STRING"), ("connection.url", "STRING")], "Bare": [("name", "STRING")]}


@pytest.mark.promise("P8")
@pytest.mark.parametrize("other", ["Open", "Bare", "NotHere"])
def test_a_mask_stands_for_a_secret_only_where_it_is_one(client, herder, other: str) -> None:
    herder.settings |= OTHERS
    herder.configs["orders"] |= {"serial": "77777"}
    herder.settings["Known"].append(("serial", "PASSWORD"))
    before = dict(herder.configs["orders"])
    read = client.get("/connectors/orders/config").json()
    assert read["serial"] == MASK
    changed = {**read, "connector.class": other}
    for method, body in [("PUT", changed), ("PATCH", {"connector.class": other, "serial": MASK})]:
        answer = client.request(method, "/connectors/orders/config", json=body)
        assert answer.status_code == 400
        assert "would show it" in answer.json()["message"]
    assert herder.configs["orders"] == before
    client.put(f"/connector-plugins/{other}/config/validate", json=changed)
    assert "77777" not in herder.validated[-1].values()  # nor may its errors tell
    # A name that says so is a secret under any class.
    last = {"connector.class": "Bare", "name": "orders", "api.token": MASK}
    assert client.put("/connectors/orders/config", json=last).status_code == 200
    assert herder.configs["orders"]["api.token"] == CONFIG["api.token"]


@pytest.mark.promise("P8")
def test_a_patch_does_not_make_a_secret_that_stays_a_plain_value(client, herder) -> None:
    herder.settings |= OTHERS
    answer = client.patch("/connectors/orders/config", json={"connector.class": "Open"})
    assert (answer.status_code, '"pin"' in answer.json()["message"]) == (400, True)
    assert herder.configs["orders"] == CONFIG
    assert client.patch("/connectors/orders/config", json={"connector.class": "Open", "pin": None}).status_code == 200
    assert "pin" not in herder.configs["orders"]


@pytest.mark.promise("P8")
def test_what_was_written_by_a_worker_without_masks_is_said_to_be_lost(client, herder) -> None:
    herder.configs["orders"]["pin"] = MASK
    answer = client.put("/connectors/orders/config", json=SHOWN)
    assert answer.status_code == 400
    assert "the secret is lost" in answer.json()["message"]
    assert client.put("/connectors/orders/config", json={**SHOWN, "pin": "4712"}).status_code == 200
    assert herder.configs["orders"]["pin"] == "4712"


@pytest.mark.promise("P8")
def test_where_only_a_provider_knows_the_class_any_key_may_be_secret(client, herder) -> None:
    herder.configs["orders"] |= {"connector.class": "${env:CLASS}", "serial": "77777", "tasks.max": "2"}
    read = client.get("/connectors/orders/config").json()
    assert (read["serial"], read["pin"], read["topic"]) == (MASK, MASK, MASK)
    assert (read["name"], read["tasks.max"], read["connector.class"]) == ("orders", "2", "${env:CLASS}")
    assert client.put("/connectors/orders/config", json=read).status_code == 200
    assert herder.configs["orders"]["serial"] == "77777"


@pytest.mark.promise("P8")
@pytest.mark.parametrize(
    ("key", "value", "seen"),
    [
        ("db.pass", "hunter22", MASK),
        ("github.pat", "ghp_x", MASK),
        ("http.header", "Bearer abc", f"Bearer {MASK}"),
        ("cert.pem", "-----BEGIN PRIVATE KEY-----\nMIIa\n-----END PRIVATE KEY-----", MASK),
        ("connection", "Server=h;Uid=me;Pwd=hunter22;", f"Server=h;Uid=me;Pwd={MASK};"),
        ("storage", "AccountName=a;AccountKey=aGV5==;X=y", f"AccountName=a;AccountKey={MASK};X=y"),
        ("url", "https://a/c?sv=1&sig=aGV5%3D&se=2", f"https://a/c?sv=1&sig={MASK}&se=2"),
    ],
)
def test_what_nobody_declares_is_hidden_by_its_name_or_its_form(client, herder, key, value, seen) -> None:
    herder.configs["orders"][key] = value
    read = client.get("/connectors/orders/config").json()
    assert read[key] == seen
    assert client.put("/connectors/orders/config", json=read).status_code == 200
    assert herder.configs["orders"][key] == value


def test_the_mask_of_a_transformation_is_found_by_its_alias(client, herder) -> None:
    herder.configs["orders"] = {"transforms": "a, b", "transforms.b.type": "Known", "transforms.b.pin": "1234"}
    assert client.get("/connectors/orders/config").json()["transforms.b.pin"] == MASK


def test_without_masks_all_is_shown_as_in_kafka(serve) -> None:
    client = serve({"rest.mask.secrets": "false"})
    assert client.get("/connectors/orders/config").json() == CONFIG
    assert client.put("/connectors/orders/config", json=SHOWN).json()["config"] == SHOWN


@pytest.mark.promise("P8")
def test_what_turns_out_to_be_a_secret_is_hidden_from_then_on(client) -> None:
    from connect.telemetry.redaction import redactor

    shown = client.get("/connectors/orders/config").json()
    redactor.remember(["orders"])
    try:
        assert client.get("/connectors/orders/config").json() == {**shown, "name": MASK, "topic": MASK}
    finally:
        redactor.__init__()


def test_a_changed_configuration_is_shown_changed(client, herder) -> None:
    client.get("/connectors/orders/config")
    herder.configs["orders"]["topic"] = "others"
    assert client.get("/connectors/orders/config").json() == {**SHOWN, "topic": "others"}


def test_the_configuration_of_each_task_is_masked_once(client, herder, monkeypatch: pytest.MonkeyPatch) -> None:
    herder.task_configs = lambda _: [{**CONFIG, "number": str(number)} for number in range(3)]
    masked: list[str] = []
    original = Declared.shown

    def shown(self: Declared, config: Mapping[str, str]) -> dict[str, str]:
        masked.append(config["number"])
        return original(self, config)

    monkeypatch.setattr(Declared, "shown", shown)
    for _ in range(2):
        tasks = client.get("/connectors/orders/tasks").json()
        assert [task["config"] for task in tasks] == [{**SHOWN, "number": str(number)} for number in range(3)]
    assert masked == ["0", "1", "2"]
