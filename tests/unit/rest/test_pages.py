"""The operations page: what it shows of the interface's answers, and what its buttons ask of it."""

import asyncio
import dataclasses
import html
import json
import re
from concurrent.futures import Future
from importlib.resources import files
from urllib.parse import urlencode

import pytest
from fastapi import FastAPI, Request

from connect.herder.errors import NotFoundError
from connect.herder.model import ConnectorState, OffsetEntry
from connect.herder.taps import TappedRecord
from connect.pipeline.outcome import SeenOutcome, SeenStep, StepFailure
from connect.pipeline.seen import Change, SeenHeader, SeenRecord
from connect.storage import ConnectorStatus, State, TaskStatus
from connect.storage.status import WaitNote
from rest.ui import connectors, live
from rest.ui.cluster import Answer, InsideCluster
from rest.ui.live import live_parts
from rest.ui.rendering import count
from rest.ui.views import overview, row, rows

from .fake_herder import done
from .page_reader import CONFIG, FORM, Text, pressed, shown

pytestmark = pytest.mark.usefixtures("orders")


@pytest.mark.parametrize(
    "path", ["/ui", "/ui/connectors", "/ui/connectors/orders", "/ui/plugins", "/ui/graph", "/ui/cluster", "/ui/nothing"]
)
def test_nothing_of_a_page_is_from_elsewhere_or_in_its_text(client, path):
    answer = client.get(path)
    if path == "/ui/nothing":
        assert answer.status_code == 404
        return
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    page = Text(answer.text)
    used = [attrs.get("src") or attrs.get("href") for tag, attrs in page.elements if tag in ("script", "link")]
    for url in used:
        assert url == "data:," or client.get(url).status_code == 200
    assert not [attrs for _, attrs in page.elements if any(name == "style" or name.startswith("on") for name in attrs)]


def test_the_overview_says_what_failed_and_where(client):
    text = str(shown(client, "/ui"))
    assert "Connectors 1" in text
    assert "Tasks FAILED 1" in text
    assert "FAILED a trace 1 part of orders ." in text
    assert "here:1 1" in text


def test_a_connector_that_nobody_has_begun_with_has_its_page(client, herder):
    def unknown(name):
        raise NotFoundError(f"No status found for connector {name}")

    herder.status = unknown
    assert "UNASSIGNED" in str(shown(client, "/ui/connectors/orders"))


def test_plugins_without_a_version_are_listed(client, monkeypatch):
    async def plugins(self, method, *path, **more):
        return Answer(200, [{"class": "org.example.Known", "type": "sink"}])

    monkeypatch.setattr(InsideCluster, "ask", plugins)
    for path in ("/ui/plugins", "/ui/new"):
        assert "org.example.Known" in str(shown(client, path))


def test_records_that_were_given_up_need_attention():
    config = {"errors.deadletterqueue.topic.name": "dead"}
    status = {"connector": {"state": "RUNNING", "worker_id": "w:1"}, "tasks": []}
    found = {name: {"status": status, "info": {"config": config}} for name in ("a", "b")}
    made = [dataclasses.replace(one, measured=one.measured._replace(errors=2.0)) for one in rows(found)[:1]]
    assert [one.name for one in overview([*made, *rows(found)[1:]]).erring] == ["a"]
    assert made[0].letters


def test_without_connectors_the_overview_says_how_to_make_one(client, herder):
    herder.configs.clear()
    assert "There is no connector yet." in str(shown(client, "/ui"))
    assert "0 of 0" in str(shown(client, "/ui/connectors"))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["orders", "others"]),
        ("?search=ORD", ["orders"]),
        ("?search=known", ["orders", "others"]),
        ("?search=failed", ["orders", "others"]),
        ("?search=A+trace", ["orders", "others"]),
        ("?search=paused", []),
        ("?state=FAILED&type=source", ["orders", "others"]),
        ("?state=PAUSED", []),
        ("?type=sink", []),
        ("?sort=lag", ["orders", "others"]),
        ("?sort=nonsense", ["orders", "others"]),
    ],
)
def test_the_address_of_a_list_says_what_is_in_it(client, herder, query, found):
    herder.configs["others"] = {**CONFIG, "name": "others"}
    links = [attrs["href"] for tag, attrs in shown(client, f"/ui/connectors{query}").elements if tag == "a"]
    assert [link.rpartition("/")[2] for link in links if "/ui/connectors/" in link] == found


def test_what_a_configuration_or_a_trace_holds_is_no_markup(client, herder):
    name = "<b>&'\"/x"
    herder.configs[name] = {**CONFIG, "name": name, "topics": "<script>alert(1)</script>"}
    page = client.get("/ui/connectors").text
    assert "<script>alert" not in page
    assert html.escape("<script>alert(1)</script>") in page
    (link,) = re.findall(r'href="(/ui/connectors/%3C[^"]*)"', page)
    assert str(shown(client, link)).count(name) >= 1


def test_configurations_and_offsets_are_shown_in_the_letters_that_they_are_written_in(client, herder, monkeypatch):
    herder.configs["orders"]["file"] = "/Aufträge/данные.txt"
    offsets = [OffsetEntry({"filename": "/注文.txt"}, {"position": 7})]
    monkeypatch.setattr(herder, "offsets", lambda name: done(offsets))
    text = html.unescape(client.get("/ui/connectors/orders").text)
    assert '"file": "/Aufträge/данные.txt"' in text
    assert '"filename": "/注文.txt"' in text


def test_secrets_are_masked_as_the_interface_masks_them(client, herder):
    herder.settings["org.example.Known"] = herder.settings["Known"]
    assert "1234567" not in client.get("/ui/connectors/orders").text


def test_the_page_of_a_connector_asks_for_no_other_ones_figures(client, herder, monkeypatch):
    herder.configs["invoices"] = dict(CONFIG)
    measured, of = [], herder.metrics().of
    monkeypatch.setattr(type(herder.metrics()), "of", lambda self, name: measured.append(name) or of(name))
    shown(client, "/ui/connectors/orders")
    assert set(measured) == {"orders"}


def test_an_unknown_connector_is_said(client):
    assert "Connector nobody not found" in str(shown(client, "/ui/connectors/nobody", 404))


@pytest.mark.parametrize(
    ("button", "asked"),
    [
        ({"do": "pause"}, ("pause", "orders")),
        ({"do": "resume"}, ("resume", "orders")),
        ({"do": "stop"}, ("stop", "orders")),
        ({"do": "restart"}, ("restart", "orders", True, False)),
        ({"do": "restart-failed"}, ("restart", "orders", True, True)),
        ({"do": "restart-task", "task": "0"}, ("restart", "orders", 0)),
    ],
)
def test_a_button_asks_the_interface_and_says_what_comes_of_it(client, herder, button, asked):
    answer = pressed(client, "/ui/connectors/orders", **button)
    assert answer.status_code == 303
    assert herder.asked == [asked]
    page = shown(client, answer.headers["Location"])
    assert ("p", {"class": "message good", "role": "status"}) in page.elements


def test_a_paused_connector_with_a_task_that_failed_can_be_resumed(client, herder, monkeypatch):
    task = TaskStatus("orders", 0, State.FAILED, "here:1", trace="a trace")
    state = ConnectorState("orders", ConnectorStatus("orders", State.PAUSED, "here:1"), [task], "sink")
    monkeypatch.setattr(herder, "status", lambda name: state)
    page = shown(client, "/ui/connectors/orders")
    assert [attrs.get("value") for tag, attrs in page.elements if tag == "button"][:3] == [
        "resume",
        "stop",
        "restart-failed",
    ]


def test_a_connector_is_deleted(client, herder):
    answer = pressed(client, "/ui/connectors/orders", do="delete")
    assert answer.headers["Location"] == "/ui/connectors?done=delete"
    assert herder.configs == {}


def test_what_is_refused_is_said_in_the_interfaces_words(client):
    answer = pressed(client, "/ui/connectors/orders", do="restart-task", task="7x")
    assert answer.status_code == 404
    assert 'class="message bad" role="alert"' in answer.text
    assert "There is no such action." in pressed(client, "/ui/connectors/orders", do="explode").text


def test_a_link_puts_no_words_of_its_own_into_a_page(client):
    assert "message" not in client.get("/ui/connectors?done=Your+password+is+needed").text


def test_a_configuration_is_validated_before_it_is_stored(client, herder):
    path = "/ui/connectors/orders"
    config = {**CONFIG, "topics": "more"}
    assert pressed(client, path, do="configure", config="{").status_code == 400
    assert "This is not JSON" in pressed(client, path, do="configure", config="{").text
    assert herder.configs["orders"] == CONFIG
    assert herder.validated == []
    answer = pressed(client, path, do="configure", config=json.dumps(config))
    assert answer.headers["Location"] == f"{path}?done=configure"
    assert herder.validated != []
    assert herder.configs["orders"]["topics"] == "more"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ('{"topics": "more"}', "connector.class : is missing. Write org.example.Known."),
        ('{"connector.class": "org.example.Known", "name": "other"}', "name : cannot be changed."),
        ('{"connector.class": "org.example.Known", "topics": ["a", "b"]}', "Write lists as one text"),
        ('{"connector.class": "org.example.Known", "a": "1", "a": "2"}', '"a" is written twice.'),
        (r'{"connector.class": "\ud800"}', "half a character"),
    ],
)
def test_what_is_wrong_with_a_configuration_is_said_on_its_page(client, herder, changed, said):
    answer = pressed(client, "/ui/connectors/orders", do="configure", config=changed)
    assert answer.status_code == 400
    assert said in str(Text(answer.text))
    assert herder.configs["orders"] == CONFIG


def test_a_number_of_a_configuration_is_stored_as_it_was_written(client, herder):
    config = '{"connector.class": "org.example.Known", "timeout": 1.50, "on": true, "none": null}'
    assert pressed(client, "/ui/connectors/orders", do="configure", config=config).status_code == 303
    assert herder.configs["orders"] == {"connector.class": CONFIG["connector.class"], "name": "orders"} | {
        "timeout": "1.50",
        "on": "true",
    }


def test_a_change_of_somebody_else_is_not_overwritten_unseen(client, herder):
    def seen(page):
        return next(attrs["value"] for _, attrs in Text(page).elements if attrs.get("name") == "seen")

    path = "/ui/connectors/orders"
    mine, first = json.dumps({**CONFIG, "topics": "mine"}), seen(client.get(path).text)
    herder.configs["orders"]["note"] = "theirs"
    # What was typed wrong is corrected, and is still about what its author has seen.
    wrong = pressed(client, path, do="configure", config="{", seen=first)
    answer = pressed(client, path, do="configure", config=mine, seen=seen(wrong.text))
    assert answer.status_code == 409
    assert "Somebody has changed this connector meanwhile." in answer.text
    assert mine in html.unescape(answer.text)
    assert herder.configs["orders"] == {**CONFIG, "note": "theirs"}
    assert pressed(client, path, do="configure", config=mine, seen=seen(answer.text)).status_code == 303
    assert herder.configs["orders"] == {**CONFIG, "topics": "mine"}


def test_what_a_task_waits_for_needs_attention(client, herder, monkeypatch):
    waits = TaskStatus("orders", 0, State.RUNNING, "here:1", waiting=WaitNote(1_000, "The database is away."))
    state = ConnectorState("orders", ConnectorStatus("orders", State.RUNNING, "here:1"), [waits], "sink")
    monkeypatch.setattr(herder, "status", lambda name: state)
    assert "WAITS The database is away. orders , task 0 on here:1" in str(shown(client, "/ui"))


def test_of_many_that_wait_the_overview_says_how_many_it_does_not_show(client, herder, monkeypatch):
    def state(name):
        waits = TaskStatus(name, 0, State.RUNNING, "here:1", waiting=WaitNote(1_000, "The database is away."))
        return ConnectorState(name, ConnectorStatus(name, State.RUNNING, "here:1"), [waits], "sink")

    herder.configs.update({f"c{number}": dict(CONFIG) for number in range(29)})
    monkeypatch.setattr(herder, "status", state)
    text = str(shown(client, "/ui"))
    assert text.count("The database is away.") == 20
    assert "10 more wait." in text


def test_a_task_links_to_the_page_that_another_server_has_of_it(client, herder, monkeypatch):
    task = TaskStatus("orders", 0, State.RUNNING, "here:1", page="http://spark:4040")
    state = ConnectorState("orders", ConnectorStatus("orders", State.RUNNING, "here:1"), [task], "sink")
    monkeypatch.setattr(herder, "status", lambda name: state)
    assert '<a href="http://spark:4040">' in client.get("/ui/connectors/orders").text
    assert client.get("/connectors/orders/status").json()["tasks"][0]["page"] == "http://spark:4040"


# Offsets.


def test_an_open_page_asks_for_no_offsets_again(client, herder, monkeypatch):
    """Those of a sink are asked of Kafka, over a new connection."""
    asked = []
    monkeypatch.setattr(herder, "offsets", lambda name: asked.append(name) or done([]))

    def live_part():
        app = client._transport.app
        while not isinstance(app, FastAPI):
            app = app._app
        scope = {"type": "http", "app": app, "headers": [], "http_version": "1.1", "root_path": "", "scheme": "http"}
        status, text = client._runner.run(live._rendered(Request(scope), "/ui/connectors/orders", ""))
        assert status == 200
        return live_parts(text)["stopped"]

    client.get("/ui/connectors/orders")
    assert "Stop the connector to change them." in live_part()
    state = ConnectorState("orders", ConnectorStatus("orders", State.STOPPED, "here:1"), [], "source")
    monkeypatch.setattr(herder, "status", lambda name: state)
    assert "Change its offsets" in live_part()
    assert asked == ["orders"]


def test_a_page_does_not_wait_for_offsets_of_brokers_that_are_away(client, herder, monkeypatch):
    monkeypatch.setattr(connectors, "_OFFSETS_S", 0.01)
    monkeypatch.setattr(herder, "offsets", lambda name: Future())
    assert "No answer within 0.01 s. Load the page again for them." in client.get("/ui/connectors/orders").text


def test_offsets_are_set_and_forgotten_where_the_connector_is_stopped(client, herder, monkeypatch):
    assert 'name="offsets"' not in client.get("/ui/connectors/orders").text
    state = ConnectorState("orders", ConnectorStatus("orders", State.STOPPED, "here:1"), [], "source")
    monkeypatch.setattr(herder, "status", lambda name: state)
    assert 'name="offsets"' in client.get("/ui/connectors/orders").text
    assert (
        "These are not offsets in JSON" in pressed(client, "/ui/connectors/orders", do="set-offsets", offsets="[").text
    )
    offsets = json.dumps([{"partition": {"file": "a"}, "offset": {"position": 7}}])
    answer = pressed(client, "/ui/connectors/orders", do="set-offsets", offsets=offsets)
    assert answer.headers["Location"] == "/ui/connectors/orders?done=set-offsets"
    assert herder.asked[-1] == ("alter", "orders", [OffsetEntry({"file": "a"}, {"position": 7})])
    assert pressed(client, "/ui/connectors/orders", do="reset-offsets").status_code == 303


# What is made of answers.


def answered(name, *states, reason="", **measured):
    trace = {"trace": reason} if reason else {}
    return {
        "status": {
            "name": name,
            "type": "sink",
            "connector": {"state": "RUNNING", "worker_id": "w:1"},
            "tasks": [{"id": n, "state": state, "worker_id": "w:1", **trace} for n, state in enumerate(states)],
        },
        "info": {"config": {"connector.class": "x.y.Sink", "topics": "t"}},
        **({"metrics": {"tasks": [{"id": 0, "metrics": measured}]}} if measured else {}),
    }


def test_errors_that_differ_in_their_particulars_are_one_problem():
    found = rows({
        "a": answered("a", "FAILED", reason='Table "orders_1" is missing (42).'),
        "b": answered("b", "FAILED", "FAILED", reason='Table "orders_2" is missing (43).'),
        "c": answered("c", "FAILED", reason="The disk is full."),
    })  # fmt: skip
    first, second = overview(found).problems
    assert (first.connectors, len(first.parts)) == (["a", "b"], 3)
    assert (second.connectors, second.reason) == (["c"], "The disk is full.")


def test_a_reason_of_any_length_is_a_line_of_a_list_and_whole_in_the_trace():
    trace = f"java.sql.BatchUpdateException: INSERT INTO orders VALUES ({'1, ' * 100_000})\n\tat org.example.Sink"
    found = row("a", answered("a", "FAILED", reason=trace))
    assert found.reason == found.parts[1].reason
    assert found.reason.startswith("java.sql.BatchUpdateException: INSERT INTO orders VALUES (1, 1, ")
    assert len(found.reason) == 500
    assert found.parts[1].trace == trace


def test_figures_are_left_out_where_a_worker_does_not_tell_them():
    """A worker of Java has states alone."""
    java = row("a", answered("a", "RUNNING"))
    assert java.measured == (None, None, None, None)
    ours = row("a", answered("a", "RUNNING", **{
        "sink-task-metrics": {"sink-record-send-rate": 2.5},
        "connect-task-metrics": {"lag": 3.0},
        "task-error-metrics": {"total-record-errors": 0.0},
    }))  # fmt: skip
    assert ours.measured == (None, 2.5, 3.0, 0.0)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (float("nan"), "-"),
        (0.0, "0"),
        (0.25, "0.2"),
        (12.4, "12"),
        (3400.0, "3,400"),
        (5_600_000.0, "5.6 M"),
    ],
)
def test_figures_are_short(value, text):
    assert count(value) == text


@pytest.fixture
def changed(client):
    """Versions 10 and 20 of a connector."""
    client.put("/connectors/orders/config", json={**CONFIG, "note": "<b>old</b>"})
    client.patch("/connectors/orders/config", json={"note": "new", "pin": "7654321", "more": "x"})


def test_the_history_leads_to_what_each_version_changed(client, changed):
    page = shown(client, "/ui/connectors/orders/history")
    links = [attrs["href"] for tag, attrs in page.elements if tag == "a" and "/history/" in attrs["href"]]
    assert links == ["/ui/connectors/orders/history/20", "/ui/connectors/orders/history/10"]
    assert "+more ~note ~pin" in str(page)
    version = shown(client, links[0])
    assert "Changes since version 10" in str(version)
    assert "more not set x note <b>old</b> new pin [hidden] [hidden]" in str(version)
    assert "1234567" not in client.get(links[0]).text
    assert "Configuration" in str(shown(client, links[1]))
    assert "/ui/connectors/orders/history" in client.get("/ui/connectors/orders").text


def test_a_version_is_restored_by_its_button_and_asked_for_first(client, herder, changed):
    page = shown(client, "/ui/connectors/orders/history/10")
    (asked,) = [attrs["data-confirm"] for tag, attrs in page.elements if tag == "button" and "data-confirm" in attrs]
    assert "configuration of version 10" in asked
    answer = pressed(client, "/ui/connectors/orders/history/10")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/ui/connectors/orders?done=restore")
    assert herder.configs["orders"] == {**CONFIG, "note": "<b>old</b>"}
    assert "has its earlier configuration again" in str(shown(client, answer.headers["Location"]))


def test_a_deleted_version_cannot_be_restored_and_an_unknown_one_is_said(client, changed):
    client.delete("/connectors/orders")
    page = shown(client, "/ui/connectors/orders/history/30")
    assert "The connector was deleted." in str(page)
    assert "button" not in [tag for tag, _ in page.elements]
    assert "Restore an earlier one." in pressed(client, "/ui/connectors/orders/history/30").text
    assert "has no version 31" in str(shown(client, "/ui/connectors/orders/history/31", 404))
    assert "not found" in str(shown(client, "/ui/connectors/nobody/history", 404))


def test_records_are_looked_at_only_when_somebody_asks(client, herder):
    step = SeenStep(
        "TRANSFORMATION",
        "CastValue",
        "whole",
        "changed",
        [Change("value.id", "5", 5, "STRING", "INT32"), Change("value.note", after="<b>")],
    )
    failure = StepFailure("VALUE_CONVERTER", "a.DataError", "DataException", "no JSON", "", "Traceback <i>")
    before = SeenRecord("lines", 0, 0, None, {"text": '{"id": "5"}'}, [SeenHeader("h", 1)], offset=7)
    after = SeenRecord("lines", 0, 0, "k", {"id": 5}, [])
    bad = SeenStep("VALUE_CONVERTER", "JsonConverter", None, "failed", [], failure)
    outcomes = SeenOutcome("kept", before, [step], after), SeenOutcome("failed", before, [bad])
    herder.tapped = [TappedRecord(0, 1_700_000_000_000, outcome) for outcome in outcomes]
    path = "/ui/connectors/orders/tap"
    assert path in client.get("/ui/connectors/orders").text
    assert "Look at the next records" in str(shown(client, path))
    assert ("close tap", 1) not in herder.asked
    text = str(shown(client, f"{path}?records=2"))
    assert "Task 0 at here:1: kept" in text
    assert "lines, partition 0, offset 7" in text
    assert 'Value {"id": "5"}' in text
    assert "transformation whole (CastValue) : changed" in text.replace("):", ") :")
    assert 'value.id "5" STRING 5 INT32 value.note "<b>"' in text
    assert 'After Topic lines, partition 0 Timestamp 1970-01-01 00:00:00Z Key k Value {"id": 5}' in text
    assert "Task 0 at here:1: failed" in text
    assert "a.DataError: no JSON" in text
    herder.tapped.clear()
    assert "No record came within five seconds." in str(shown(client, f"{path}?records=2"))
    assert "records is a number from 1 to 100." in str(shown(client, f"{path}?records=0", 400))


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/ui/connectors/orders", {"do": "set-offsets", "offsets": "[" * 50_000}),
        ("/ui/connectors/orders", {"do": "configure", "config": "[" * 50_000}),
        (f"/ui/connectors/orders/dead-letters/{'9' * 5000}/1", {"do": "edit", "value": "x"}),
    ],
)
def test_what_makes_no_sense_is_no_error_of_the_worker(client, path, form):
    assert client.post(path, content=urlencode(form), headers=FORM).status_code == 400


def test_a_form_has_no_more_fields_than_a_page(client, herder):
    """A body has room for millions of them, and each would be an object of the worker."""
    selected = "&".join(["do=pause", "name=orders", *(f"other{number}=1" for number in range(50_000))])
    assert client.post("/ui/connectors", content=selected, headers=FORM).status_code == 200
    assert ("pause", "orders") in herder.asked
    assert client.post("/ui/connectors", content="a=&" * 200_000, headers=FORM).status_code == 413
    assert client.post("/ui/check", content="a=&" * 200_000, headers=FORM).status_code == 413


def test_few_pages_are_rendered_at_a_time_however_many_are_followed(client, monkeypatch):
    """All of it is done on the thread that answers everybody: a probe must not wait for hundreds of them."""
    at_once, most = 0, 0

    async def rendered(*_):
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0)
        at_once -= 1
        return 404, ""

    async def follow(request):
        return [event async for event in live._events(request, "/ui", "")]

    async def test():
        app = client._transport.app
        while not isinstance(app, FastAPI):
            app = app._app
        request = Request({"type": "http", "app": app, "state": {}})
        return await asyncio.gather(*(follow(request) for _ in range(100)))

    monkeypatch.setattr(live, "_rendered", rendered)
    assert [len(events) for events in client._runner.run(test())] == [1] * 100
    assert most == 4


def test_a_page_that_cannot_be_shown_for_a_while_is_followed_on(client, monkeypatch):
    """The worker that `connect ui` asks restarts, say."""
    part = '<div data-live id="list">as before<!--/live--></div>'
    answers = [(200, part), (502, ""), (502, ""), (200, part), (404, "")]

    async def rendered(*_):
        return answers.pop(0)

    async def follow():
        request = Request({"type": "http", "app": FastAPI(), "state": {}})
        return [event.split("\n")[0] async for event in live._events(request, "/ui", "")]

    monkeypatch.setattr(live, "_rendered", rendered)
    monkeypatch.setattr(live, "_EVERY_S", 0.0)
    found = client._runner.run(follow())
    assert found == ["event: parts", "event: late", "event: late", "event: parts", "event: over"]


def test_every_live_part_of_a_page_has_an_end_that_the_server_finds() -> None:
    for template in (files("rest.ui") / "templates").iterdir():
        text = template.read_text()
        count = text.count("data-live")
        assert len(live_parts(text)) == count, template.name
        assert text.count("<!--/live--></div>") == count, template.name
