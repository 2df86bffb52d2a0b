"""Dead letters over REST: what is asked of the herder, and what is refused before."""

from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest

from connect.herder.dead_letter_view import Bytes, DeadLetterView, LetterError, LetterHeader, fingerprint
from connect.herder.dead_letters import LetterGroup, LetterGroups, LetterPage, Wanted
from connect.herder.errors import BadRequestError, NotFoundError
from connect.herder.replay import MOST_REPLAYED, Replayed, ReplayRequest, Sent, Skipped
from connect.kafka.reading.read_range import StoredRecord
from connect.pipeline.error_headers import ErrorContext
from rest import dlq

LETTER = DeadLetterView(0, 812, 1000, Bytes.of(b"k"), Bytes.of(b"\xff"), [LetterHeader("n", None)], None)


class FakeLetters:
    """Remembers what it is asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def page(self, wanted: Wanted, limit: int, after: str | None = None) -> LetterPage:
        self.asked.append((wanted, limit, after))
        return LetterPage("dead", [LETTER], "0:812")

    def groups(self, wanted: Wanted) -> LetterGroups:
        self.asked.append(wanted)
        return LetterGroups("dead", [LetterGroup("f", "S", "c", "e", "m", 1, 2, 3, 0, 5)], 1, True)

    def one(self, partition: int, offset: int) -> DeadLetterView:
        self.asked.append((partition, offset))
        if offset == 404:
            raise NotFoundError("There is no record 404 in partition 0 of dead.")
        return LETTER


@pytest.fixture
def letters(herder) -> FakeLetters:
    herder.configs["orders"] = {"name": "orders"}
    herder.letters = FakeLetters()
    return herder.letters


@pytest.fixture
def orders(letters, monkeypatch) -> list[ReplayRequest]:
    """What is to be replayed; nothing is."""
    found: list[ReplayRequest] = []

    def replay(_: Any, request: ReplayRequest) -> Replayed:
        found.append(request)
        return Replayed("dead", request.dry_run, [Sent(0, 1, "t", 2, 3)], [], 0, True, None)

    monkeypatch.setattr(dlq, "replay", replay)
    return found


def test_a_page_is_asked_for_by_its_filter(client, letters) -> None:
    answer = client.get("/connectors/orders/dlq")
    assert answer.json() == {
        "topic": "dead",
        "letters": [
            {
                "partition": 0,
                "offset": 812,
                "timestamp": 1000,
                "key": {"size": 1, "text": "k"},
                "value": {"size": 1, "base64": "/w=="},
                "headers": [{"key": "n", "value": None}],
                "error": None,
            }
        ],
        "next": "0:812",
    }
    client.get("/connectors/orders/dlq?since=1&until=2&stage=s&error=e&fingerprint=f&key=k&limit=3&after=0:4")
    full = Wanted(since=1, until=2, stage="s", error="e", fingerprint="f", key="k", connector="orders")
    assert letters.asked == [(Wanted(connector="orders"), 50, None), (full, 3, "0:4")]


def test_groups_and_one(client, letters) -> None:
    assert client.get("/connectors/orders/dlq/groups?error=e").json()["groups"][0]["fingerprint"] == "f"
    assert client.get("/connectors/orders/dlq/3/7").json()["offset"] == 812
    assert letters.asked == [Wanted(error="e", connector="orders"), (3, 7)]
    missing = client.get("/connectors/orders/dlq/0/404")
    assert (missing.status_code, missing.json()["message"]) == (404, "There is no record 404 in partition 0 of dead.")


@pytest.mark.parametrize(
    "path", ["?since=yesterday", "?until=-1", "?limit=a", "?limit=" + "9" * 30, "/x/1", "/0/-1", "/0/٣"]
)
def test_what_is_no_number_is_refused(client, letters, path: str) -> None:
    assert client.get(f"/connectors/orders/dlq{path}").status_code == 400
    assert letters.asked == []


def test_an_unknown_connector_is_not_found(client, letters) -> None:
    assert client.get("/connectors/nobody/dlq").status_code == 404
    assert client.post("/connectors/nobody/dlq/replay", json={}).status_code == 404


def test_what_the_herder_refuses_is_the_answer(client, letters, monkeypatch) -> None:
    def refuse(*_: Any) -> None:
        raise BadRequestError("Connector orders keeps no dead letters.")

    monkeypatch.setattr(letters, "page", refuse)
    answer = client.get("/connectors/orders/dlq")
    assert (answer.status_code, answer.json()["message"]) == (400, "Connector orders keeps no dead letters.")


def test_a_replay_is_ordered_as_the_body_says(client, orders) -> None:
    body = {
        "since": 1,
        "places": [{"partition": 0, "offset": 5}],
        "limit": 7,
        "to": "connector",
        "into": "t",
        "set": {"a.b": [1]},
        "unset": ["c"],
        "values": [
            {"partition": 0, "offset": 5, "text": "ä"},
            {"partition": 0, "offset": 6, "base64": "/w=="},
            {"partition": 0, "offset": 7},
        ],
        "dry_run": True,
        "again": True,
    }
    answer = client.post("/connectors/orders/dlq/replay", json=body)
    assert answer.json()["replayed"] == [{"partition": 0, "offset": 1, "topic": "t", "to_partition": 2, "to_offset": 3}]
    assert orders == [
        ReplayRequest(
            wanted=Wanted(since=1, places=frozenset([(0, 5)]), connector="orders"),
            limit=7,
            to="connector",
            into="t",
            put={"a.b": [1]},
            drop=["c"],
            values={(0, 5): "ä".encode(), (0, 6): b"\xff", (0, 7): None},
            dry_run=True,
            again=True,
        )
    ]
    client.post("/connectors/orders/dlq/replay", json={})
    assert orders[1] == ReplayRequest(wanted=Wanted(connector="orders"), limit=MOST_REPLAYED, drop=[])


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("", "no body"),
        ("{", "has a wrong form"),
        ('{"since": "1"}', "$.since"),
        ('{"since": -1}', "$.since"),
        ('{"setting": {}}', "setting"),
        ('{"to": "nowhere"}', "$.to"),
        ('{"places": [{"partition": 0}]}', "offset"),
        ('{"values": [{"partition": 0, "offset": 1, "base64": "x"}]}', "values: "),
        ('{"limit": 1.5}', "$.limit"),
    ],
)
def test_a_wrong_order_is_refused(client, orders, body: str, said: str) -> None:
    answer = client.post(
        "/connectors/orders/dlq/replay", content=body.encode(), headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 400
    assert said in answer.json()["message"]
    assert orders == []


# The pages.


def test_the_pages_show_dead_letters_by_error_and_each_whole(client, letters) -> None:
    page = client.get("/ui/connectors/orders/dead-letters?fingerprint=f")
    assert page.status_code == 200
    assert "1 in the topic dead." in page.text
    assert "1970-01-01 00:00:01Z" in page.text
    assert '/ui/connectors/orders/dead-letters/0/812"' in page.text
    assert letters.asked[1][0].fingerprint == "f"
    whole = client.get("/ui/connectors/orders/dead-letters/0/812")
    assert "/w== (base64)" in whole.text
    assert client.get("/ui/connectors/orders/dead-letters/0/404").status_code == 404


def test_a_button_of_the_page_replays_those_of_one_error(client, orders) -> None:
    answer = client.post(
        "/ui/connectors/orders/dead-letters",
        content="fingerprint=f",
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    assert answer.headers["Location"] == "/ui/connectors/orders/dead-letters?done=replay"
    (request,) = orders
    assert request.wanted.fingerprint == "f"


FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def test_the_page_of_a_letter_replays_it_with_another_value_or_unchanged(client, orders) -> None:
    path = "/ui/connectors/orders/dead-letters/0/5"
    answer = client.post(path, content="do=edit&value=%7B%22n%22%3A+2%7D", headers=FORM)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/ui/connectors/orders/dead-letters?done=replay")
    client.post(path, content="do=replay&again=on", headers=FORM)
    edited, unchanged = orders
    assert (edited.wanted.places, edited.values, edited.again) == ({(0, 5)}, {(0, 5): b'{"n": 2}'}, False)
    assert (unchanged.wanted.places, unchanged.values, unchanged.again) == ({(0, 5)}, {}, True)


@pytest.mark.parametrize(
    ("skipped", "before", "said"),
    [
        ([Skipped(0, 5, "its topic is gone.")], 0, "Nothing was written: its topic is gone."),
        ([Skipped(0, 5, "its topic is gone.")], 3, "Nothing was written: its topic is gone."),
        ([], 1, "It was replayed before. Nothing was written."),
        ([], 0, "Nothing was written: it is not there any more."),
    ],
)
def test_the_page_of_a_letter_says_why_it_was_not_replayed(
    client, letters, monkeypatch: pytest.MonkeyPatch, skipped: list[Skipped], before: int, said: str
) -> None:
    monkeypatch.setattr(dlq, "replay", lambda *_: Replayed("dead", False, [], skipped, before, True, None))
    answer = client.post("/ui/connectors/orders/dead-letters/0/5", content="do=edit&value=mine", headers=FORM)
    assert answer.status_code == 409
    assert said in answer.text


@pytest.mark.parametrize(
    ("skipped", "complete", "warning", "said"),
    [
        ([Skipped(0, 5, "t does not exist.")], True, None, "1 is written again. 1 is not: t does not exist."),
        ([], False, None, "1 is written again. There are more. Replay them again for the rest."),
        ([], True, "The replay could not be recorded: x", "1 is written again. The replay could not be recorded: x"),
    ],
)
@pytest.mark.parametrize("path", ["", "/0/5"])
def test_the_page_says_what_a_replay_has_left(client, letters, monkeypatch, path, skipped, complete, warning, said):
    sent = [Sent(0, 1, "t", 2, 3)]
    monkeypatch.setattr(dlq, "replay", lambda *_: Replayed("dead", False, sent, skipped, 0, complete, warning))
    answer = client.post(f"/ui/connectors/orders/dead-letters{path}", content="do=replay", headers=FORM)
    assert answer.status_code == 200
    assert said in answer.text


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("a\nb", "a\nb"),
        ("a\r\nb\r\n", "a\r\nb\r\n"),
        ("a\r\nb\n", None),
        ("a\rb", None),
        ("a\0b", None),
    ],
)
def test_a_corrected_value_keeps_its_line_ends(client, letters, orders, monkeypatch, value, sent) -> None:
    """A browser sends every line end as CR LF; a value that it would change otherwise is not for its field."""
    monkeypatch.setattr(letters, "one", lambda *_: msgspec.structs.replace(LETTER, value=Bytes.of(value.encode())))
    path = "/ui/connectors/orders/dead-letters/0/5"
    page = client.get(path).text
    assert ("<textarea" in page) == (sent is not None)
    if sent is None:
        assert "connect dlq replay --edit" in page
        return
    fields = {"do": "edit", "value": value.replace("\r\n", "\n").replace("\n", "\r\n")}
    if 'name="crlf"' in page:
        fields["crlf"] = "yes"
    client.post(path, content=urlencode(fields), headers=FORM)
    assert orders[0].values == {(0, 5): sent.encode()}


def test_a_value_that_was_left_out_is_not_shown_as_null(client, letters, monkeypatch) -> None:
    context = ErrorContext(topic="t", stage="KAFKA_PRODUCE", omitted="it is too large: 2000000 bytes as JSON")
    error = LetterError.of(context, whole=True)
    monkeypatch.setattr(letters, "one", lambda *_: msgspec.structs.replace(LETTER, value=None, headers=[], error=error))
    page = client.get("/ui/connectors/orders/dead-letters/0/5").text
    assert "It is not in the dead letter: it is too large: 2000000 bytes as JSON" in page
    assert "<i>null</i>" not in page


def test_dead_letters_without_error_headers_are_a_group_like_others(client, letters, monkeypatch) -> None:
    bare = StoredRecord("dead", 0, 1, 1000, "CreateTime", None, b"x", [("own", b"y")])
    name = fingerprint(ErrorContext())
    assert Wanted(fingerprint=name, connector="orders").takes(bare, None)
    assert not Wanted(fingerprint="f").takes(bare, None)
    assert not Wanted(stage="TRANSFORMATION").takes(bare, None)
    assert not Wanted(error="null").takes(bare, None)
    group = LetterGroup(name, "", "", "", None, 1, 1000, 1000, 0, 1)
    monkeypatch.setattr(letters, "groups", lambda _: LetterGroups("dead", [group], 1, True))
    assert "Their headers do not say</a>" in client.get("/ui/connectors/orders/dead-letters").text


def test_long_messages_that_differ_in_what_varies_have_one_fingerprint() -> None:
    def of(first: int) -> str:
        told = f"row {first}: " + "; ".join(f"field {n} is not a number" for n in range(300))
        return fingerprint(ErrorContext(stage="VALUE_CONVERTER", message=told))

    assert of(1) == of(1_000_000) != of(-1)
