"""/ui/try: what the page asks of the interface, what it shows, and that nothing typed is lost."""

from __future__ import annotations

import html
import json
import re
from typing import Any
from urllib.parse import urlencode

import pytest

from connect.herder.errors import BadRequestError
from connect.pipeline.outcome import SeenOutcome, SeenStep, StepFailure
from connect.pipeline.seen import Change, SeenRecord
from connect.worker.trials import TrialResult

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
TYPED = {
    "key:connector.class": "Known",
    "key:name": "orders",
    "key:topics": "lines",
    "key:pin": "4711<b>",
    "others": "transforms=first\r\ntransforms.first.type=Cast",
}
CONFIG = {
    "connector.class": "Known",
    "name": "orders",
    "topics": "lines",
    "pin": "4711<b>",
    "transforms": "first",
    "transforms.first.type": "Cast",
}


def pressed(client, status: int = 200, **more: str) -> str:
    answer = client.post("/ui/try", content=urlencode({**TYPED, "do": "try", **more}), headers=FORM)
    assert answer.status_code == status, answer.text
    return str(answer.text)


def fields(page: str) -> dict[str, str]:
    """The hidden fields, as a browser sends them."""
    found = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', page)
    return {html.unescape(name): html.unescape(value) for name, value in found}


@pytest.fixture
def outcome() -> TrialResult:
    before = SeenRecord("lines", 0, 1_700_000_000_000, None, {"text": '{"n": "<i>5"}'}, [], offset=7)
    failure = StepFailure("TRANSFORMATION", "ValueError", "X", "x is not a number", "Set errors.tolerance.", "a trace")
    steps = [
        SeenStep("VALUE_CONVERTER", "JsonConverter", None, "changed", [Change("value.n", "<i>5", 5)]),
        SeenStep("TRANSFORMATION", "Cast", "first", "failed", [], failure),
    ]
    return TrialResult([SeenOutcome("failed", before, steps)], ["The topic has no more."])


@pytest.mark.parametrize("timestamp", [1_700_000_000_000_000, -62_135_596_800_001, 2**63 - 1])
def test_a_timestamp_that_no_calendar_has_is_shown_as_it_is(client, herder, timestamp: int) -> None:
    record = SeenRecord("lines", 0, timestamp, None, {"text": "a"}, [], offset=7)
    herder.trial = TrialResult([SeenOutcome("kept", record, [])])
    assert f"{timestamp} ms" in pressed(client)


def test_the_form_is_tried_at_once_and_every_step_shown(client, herder, outcome: TrialResult) -> None:
    herder.trial = outcome
    page = pressed(client)
    (request,) = herder.trials
    assert (dict(request.config), request.topic, request.limit, request.from_end) == (CONFIG, None, 5, False)
    for shown in (
        "Try orders on records",
        "Record 1: failed",
        "value converter <b>JsonConverter</b>: changed",
        "transformation <b>first</b> (Cast): failed",
        "ValueError: x is not a number<br>Set errors.tolerance.",
        "The topic has no more.",
    ):
        assert shown in page
    assert "<i>5" not in page


def test_all_that_was_typed_goes_back_to_the_form(client) -> None:
    page = pressed(client, **{"try:topic": "others", "try:limit": "7"})
    assert fields(page) == {key: value.replace("\r\n", "\n") for key, value in TYPED.items()}
    assert 'value="others"' in page
    assert 'formaction="/ui/new"' in page
    sent = urlencode({**fields(page), "do": "check", "try:topic": "others"})
    back = client.post("/ui/new", content=sent, headers=FORM)
    assert back.status_code == 200
    assert "transforms=first\ntransforms.first.type=Cast" in back.text


@pytest.mark.parametrize(
    ("back", "leads_to"),
    [
        ("/ui/connectors/orders/edit", "/ui/connectors/orders/edit"),
        ("//elsewhere/ui/", "/ui/new"),
        ("javascript:x", "/ui/new"),
    ],
)
def test_it_leads_back_to_where_the_form_is_and_nowhere_else(client, back: str, leads_to: str) -> None:
    assert f'formaction="{leads_to}"' in pressed(client, back=back)


def test_the_records_of_a_topic_are_chosen(client, herder) -> None:
    page = pressed(client, **{"try:topic": "others", "try:limit": "3", "try:from_end": "true"})
    (request,) = herder.trials
    assert (request.topic, request.limit, request.from_end, request.samples) == ("others", 3, True, [])
    assert "checked" in page


@pytest.mark.parametrize(
    "text", ['{"value": 1}\r\n\r\n{"value": 2}', '[{"value": 1}, {"value": 2}]', '[{"value": 1},\r\n{"value": 2}]']
)
def test_samples_are_pasted(client, herder, text: str) -> None:
    page = pressed(client, **{"try:samples": text, "try:from_end": "true"})
    assert [json.loads(one) for one in herder.trials[0].samples] == [{"value": 1}, {"value": 2}]
    assert html.escape(text.replace("\r\n", "\n"), quote=True).replace("&quot;", "&#34;") in page


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"try:samples": '{"value": 1}\r\n{"value"'}, "Samples: line 2 is not JSON"),
        ({"try:limit": "many"}, "is not a whole number."),
        ({"try:limit": "21"}, "at `$.limit`"),
        ({"try:samples": "5"}, "Expected `object`, got `int`"),
        ({"key:connector.class": ""}, "HTTP 404"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_typed_is_lost(client, herder, typed: dict[str, str], said: str) -> None:
    page = pressed(client, 404 if "404" in said else 400, **typed)
    assert said in html.unescape(page)
    assert fields(page)["key:pin"] == "4711<b>"
    assert herder.trials == []


def test_why_it_cannot_be_tried_is_said(client, herder) -> None:
    herder.trial = BadRequestError('key "topics": names no topic.')
    assert 'role="alert">key &#34;topics&#34;: names no topic.' in pressed(client, 400)


def test_a_line_without_a_key_is_said_and_nothing_is_tried(client, herder) -> None:
    page = pressed(client, 400, others="nonsense")
    assert "is not of the form key=value." in page
    assert fields(page)["others"] == "nonsense"
    assert herder.trials == []


def test_the_configuration_may_be_written_as_text(client, herder) -> None:
    text = '{\n  "connector.class": "Known",\n  "rate": 1.50\n}'
    page = pressed(client, **{"as": "json", "text": text})
    assert herder.trials[0].config == {"connector.class": "Known", "rate": "1.50"}
    assert fields(page)["text"] == text


def test_a_connector_that_exists_is_tried_with_its_stored_secrets(client, herder) -> None:
    herder.configs["orders"] = {**CONFIG, "pin": "0815"}
    edit = "/ui/connectors/orders/edit"
    page = pressed(client, **{"key:name": "", "key:pin": "[hidden]", "name": "orders", "class": "Known", "back": edit})
    assert herder.trials[0].config["pin"] == "0815"
    assert f'formaction="{edit}"' in page
    assert "0815" not in page


def test_several_values_of_a_field_stay_several(client) -> None:
    sent = urlencode([*TYPED.items(), ("pick:topics", "a"), ("pick:topics", "b")])
    page = client.post("/ui/try", content=sent, headers=FORM).text
    assert page.count('name="pick:topics"') == 2


def test_who_comes_by_the_address_begins_with_a_form(client: Any) -> None:
    answer = client.get("/ui/try")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/ui/new")


def test_the_form_has_a_button_for_it(client, herder) -> None:
    assert 'formaction="/ui/try"' in client.get("/ui/new?class=Known").text
