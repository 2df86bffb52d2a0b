"""PUT /connector-plugins/{plugin}/config/try: what is tried, for whom, and what the answer says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from connect.herder.errors import BadRequestError, BusyError
from connect.herder.trials import TrialRequest
from connect.pipeline.outcome import SeenOutcome
from connect.pipeline.seen import SeenRecord
from connect.worker.trials import TrialResult

PATH = "/connector-plugins/Known/config/try"
CONFIG = {"name": "orders", "topics": "lines", "pin": "4711"}


@pytest.fixture(autouse=True)
def _shows(herder) -> None:
    record = SeenRecord("lines", 0, None, None, {"n": 1}, [])
    herder.trial = TrialResult([SeenOutcome("kept", record, [], record)], ["That was all."])


def ask(client, status: int = 200, **body: object) -> Any:
    answer = client.put(PATH, json={"config": CONFIG, **body})
    assert answer.status_code == status, answer.text
    return answer.json()


def test_the_answer_is_that_of_the_tap(client) -> None:
    answer = ask(client)
    shown = {"topic": "lines", "partition": 0, "timestamp": None, "key": None, "value": {"n": 1}, "headers": []}
    (one,) = answer["records"]
    assert (one["task"], one["worker_id"]) == (0, "here:1")
    assert one["record"] == {"verdict": "kept", "before": shown, "steps": [], "after": shown}
    assert answer["untapped"] == [{"worker_id": "here:1", "reason": "That was all.", "task": None}]


def test_the_records_of_a_topic_are_asked_for(client, herder) -> None:
    ask(client)
    ask(client, topic="others", limit=20, from_end=True)
    config = {**CONFIG, "connector.class": "Known"}
    assert herder.trials == [
        TrialRequest(config, None, 5, False, []),
        TrialRequest(config, "others", 20, True, []),
    ]


def test_samples_are_passed_as_they_were_written(client, herder) -> None:
    samples = [{"value": {"n": 10**30, "x": 1.5}, "key": "k", "headers": {"h": "1"}}, {"value": None}]
    ask(client, samples=samples)
    assert [json.loads(text) for text in herder.trials[0].samples] == samples


def test_the_configuration_is_text_as_it_was_written(client, herder) -> None:
    body = b'{"config": {"name": "orders", "rate": 1.50, "on": true, "gone": null}}'
    assert client.put(PATH, content=body, headers={"Content-Type": "application/json"}).status_code == 200
    assert herder.trials[0].config == {"name": "orders", "rate": "1.50", "on": "true", "connector.class": "Known"}


@pytest.mark.promise("P8")
def test_stored_secrets_take_the_place_of_masks_and_no_others(client, herder) -> None:
    herder.configs["orders"] = {**CONFIG, "connector.class": "Known"}
    ask(client, config={**CONFIG, "pin": "[hidden]"})
    assert herder.trials[0].config["pin"] == "4711"
    refused = ask(client, 400, config={**CONFIG, "name": "other", "pin": "[hidden]"})
    assert "no such secret is stored" in refused["message"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"limit": 0}, "The request has a wrong form: Expected `int` >= 1 - at `$.limit`."),
        ({"limit": 21}, "The request has a wrong form: Expected `int` <= 20 - at `$.limit`."),
        ({"samples": [{}] * 21}, "The request has a wrong form: Expected `array` of length <= 20 - at `$.samples`."),
        ({"samples": ["text"]}, "The request has a wrong form: Expected `object`, got `str` - at `$.samples[0]`."),
        ({"many": 1}, "The request has a wrong form: Object contains unknown field `many`."),
        ({"samples": [{}], "from_end": True}, '"from_end" is for records of a topic. Leave it out beside "samples".'),
        (
            {"samples": [{"value": "x" * 2**19}] * 2},
            "The samples have 1,048,602 bytes. Up to 1,048,576 may be.",
        ),
        (
            {"config": {"connector.class": "Other"}},
            "Included connector type Other does not match request type Known",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(client, herder, body: dict[str, object], message: str) -> None:
    assert ask(client, 400, **body)["message"] == message
    assert herder.trials == []


def test_a_body_without_a_configuration_is_refused(client) -> None:
    answer = client.put(PATH, json={"topic": "lines"})
    assert (answer.status_code, answer.json()["message"]) == (
        400,
        "The request has a wrong form: Object missing required field `config`.",
    )


def test_what_cannot_be_tried_is_said_with_the_reason(client, herder) -> None:
    herder.trial = BadRequestError('key "topics": names no topic.')
    assert ask(client, 400)["message"] == 'key "topics": names no topic.'


def test_who_comes_while_others_try_is_asked_to_come_again(client, herder) -> None:
    def busy(request: TrialRequest) -> None:
        raise BusyError("Try again in a moment.")

    herder.try_records = busy
    assert ask(client, 503)["message"] == "Try again in a moment."
