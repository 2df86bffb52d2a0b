"""The pages of the whole cluster: its graph, its workers, and what one action does to many connectors."""

import dataclasses
from urllib.parse import urlencode

import pytest

from connect.herder.errors import NotFoundError
from connect.storage import State
from rest.ui.graph import graph
from rest.ui.views import row

from .fake_herder import done
from .page_reader import CONFIG, FORM, Text, pressed, shown

pytestmark = pytest.mark.usefixtures("orders")


def kinds(herder, monkeypatch, **types):
    """Connectors with their types and topics: name=("source", ["a", "b"])."""
    status = herder.status
    herder.configs = {name: {**CONFIG, "name": name} for name in types}
    monkeypatch.setattr(herder, "status", lambda name: dataclasses.replace(status(name), type=types[name][0]))
    monkeypatch.setattr(herder, "active_topics", lambda name: types[name][1])


def test_the_graph_leads_from_sources_over_topics_to_sinks(client, herder, monkeypatch):
    kinds(herder, monkeypatch, s1=("source", ["t1"]), s2=("source", ["t2", "t3"]), k1=("sink", ["t1", "t2"]))
    page = shown(client, "/ui/graph")
    assert "t1 s1 k1 t2 s2 k1 t3 s2" in str(page)
    links = {attrs["href"] for tag, attrs in page.elements if tag == "a" and "/ui/connectors/" in attrs["href"]}
    assert links == {f"/ui/connectors/{name}" for name in ("s1", "s2", "k1")}
    assert len([1 for tag, _ in page.elements if tag == "path"]) == 5
    assert "There is no such connector." in str(shown(client, "/ui/graph?search=nothing"))
    only = str(shown(client, "/ui/graph?search=S2"))
    assert "t2 s2 t3 s2" in only
    assert "s1" not in only


def test_the_graph_has_an_order_in_which_lines_do_not_cross():
    def connector(name, kind):
        expanded = {"status": {"connector": {"state": "RUNNING", "worker_id": "w"}, "tasks": [], "type": kind}}
        return row(name, expanded)

    connectors = [connector("a", "source"), connector("b", "source"), connector("x", "sink"), connector("y", "sink")]
    found = graph(connectors, {"a": ["z"], "b": ["q"], "x": ["q"], "y": ["z"]})
    heights = {node.name: node.y for node in found.nodes}
    assert heights["a"] == heights["z"] == heights["y"] < heights["b"] == heights["q"] == heights["x"]
    assert found.topics == [("q", ["b"], ["x"]), ("z", ["a"], ["y"])]
    assert graph([], {}).nodes == []


def test_a_large_cluster_is_drawn_in_part(client, herder, monkeypatch):
    kinds(herder, monkeypatch, **{f"s{number:03}": ("source", ["t"]) for number in range(120)})
    text = str(shown(client, "/ui/graph"))
    assert "The first 100 of 120 connectors." in text
    assert "s099" in text
    assert "s100" not in text


def test_the_cluster_has_its_workers_and_levels_that_can_be_set(client, herder):
    text = str(shown(client, "/ui/cluster"))
    assert "here:1" in text
    assert "orders: task 0 FAILED" in text.replace(" :", ":")
    answer = pressed(client, "/ui/cluster", logger="connect.x", level="DEBUG")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/ui/cluster?done=set-level")
    assert "The level is set on all workers." in client.get("/ui/cluster?done=set-level").text
    assert "invalid log level" in pressed(client, "/ui/cluster", logger="connect.x", level="LOUD").text


def selected(client, action, *names, **more):
    return client.post("/ui/connectors", content=urlencode({"do": action, "name": names, **more}, True), headers=FORM)


def test_one_action_changes_many_and_can_be_undone(client, herder):
    herder.configs["others"] = {**CONFIG, "name": "others"}
    page = Text(selected(client, "pause", "orders", "others").text)
    assert {("pause", "orders"), ("pause", "others")} <= set(herder.asked)
    assert "2 connectors are paused." in str(page)
    undo = [attrs["value"] for _, attrs in page.elements if attrs.get("name") == "undo"]
    assert undo == ["resume orders", "resume others"]
    herder.asked.clear()
    page = Text(client.post("/ui/connectors", content=urlencode({"do": "undo", "undo": undo}, True), headers=FORM).text)
    assert herder.asked == [("resume", "orders"), ("resume", "others")]
    assert "2 connectors are resumed." in str(page)


def test_undoing_brings_back_the_state_that_each_had(client, herder, monkeypatch):
    herder.configs["others"] = {**CONFIG, "name": "others"}
    status = herder.status

    def stopped(name):
        found = status(name)
        state = State.STOPPED if name == "others" else State.PAUSED
        return dataclasses.replace(found, connector=dataclasses.replace(found.connector, state=state))

    monkeypatch.setattr(herder, "status", stopped)
    page = Text(selected(client, "resume", "orders", "others").text)
    undo = [attrs["value"] for _, attrs in page.elements if attrs.get("name") == "undo"]
    assert undo == ["pause orders", "stop others"]


def test_a_refusal_keeps_no_other_from_it_and_is_said(client, herder, monkeypatch):
    def refused(name):
        if name == "none-such":
            raise NotFoundError(f"Unknown connector {name}")
        return done(None)

    monkeypatch.setattr(herder, "stop_connector", refused)
    text = str(Text(selected(client, "stop", "none-such", "orders").text))
    assert "1 connector is stopped." in text
    assert "none-such : Unknown connector none-such" in text.replace("such:", "such :")
    assert "Nothing is selected." in str(Text(selected(client, "pause").text))
    assert "Nothing is selected." in str(Text(selected(client, "explode", "orders").text))
    assert "Undo" not in str(Text(selected(client, "restart", "orders").text))
