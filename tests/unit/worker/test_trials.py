"""Trials in processes of their own: what they show, and that whatever a plug-in does there ends with them."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from connect.pipeline.samples import Kind
from connect.telemetry.redaction import MASK
from connect.worker.processes import start_server
from connect.worker.trial_process import TrialSpec
from connect.worker.trials import TrialResult, WrongTrialError, run_trial

PLUGINS = str(Path(__file__).with_name("plugins"))
WORKER = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
#: Generous: it ends a run that hangs.
PATIENCE_S = 60.0


def spec(*values: object, kind: Kind = "sink", worker: dict[str, str] | None = None, **config: str) -> TrialSpec:
    settings = {key.replace("__", "."): value for key, value in config.items()}
    samples = [json.dumps({"value": value}) for value in values]
    secrets = [value for key, value in settings.items() if key.endswith("secret")]
    return TrialSpec(
        kind,
        {"name": "orders", **settings},
        {**WORKER, **(worker or {})},
        [PLUGINS],
        secrets,
        "lines",
        samples,
        5,
        False,
        20,
    )


def unruly(does: str, *values: object, seconds: float = PATIENCE_S, **config: Any) -> TrialResult:
    """A trial with a transformation that does this with the value {"bad": ...}."""
    return run_trial(
        spec(
            *values,
            transforms="first",
            transforms__first__type="unruly_steps.Unruly",
            transforms__first__do=does,
            **config,
        ),
        seconds,
    )


@pytest.fixture(scope="module", autouse=True)
def _server():
    start_server()


def processes() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


def test_each_record_is_shown_before_and_after_every_step():
    result = run_trial(
        spec(
            {"n": "5"},
            {"n": "x"},
            transforms="whole",
            transforms__whole__type="org.apache.kafka.connect.transforms.Cast$Value",
            transforms__whole__spec="n:int32",
        ),
        PATIENCE_S,
    )
    assert result.reasons == []
    first, second = result.records
    assert (first.verdict, first.before.value, first.after.value) == ("kept", {"text": '{"n":"5"}'}, {"n": 5})
    assert [step.verdict for step in first.steps] == ["changed", "changed", "unchanged", "changed"]
    assert (second.verdict, second.after) == ("failed", None)
    assert (second.steps[-1].alias, second.steps[-1].error.stage) == ("whole", "TRANSFORMATION")
    assert "the task would fail" in second.steps[-1].error.advice.lower()


def test_the_result_of_a_source_is_what_would_be_in_kafka():
    result = run_trial(spec({"n": 5}, kind="source"), PATIENCE_S)
    (record,) = result.records
    assert (record.before.value, record.after.value) == ({"n": 5}, {"text": '{"n":5}'})
    assert record.before.topic == "lines"


@pytest.mark.promise("P6")
@pytest.mark.parametrize("does", ["hang", "hold the interpreter"])
def test_what_hangs_is_ended_and_named_beside_what_came_before(does):
    began, before = time.monotonic(), processes()
    result = unruly(does, {"n": 1}, {"bad": 2}, {"n": 3}, seconds=2.0)
    assert time.monotonic() - began < 30
    assert processes() <= before
    assert [record.verdict for record in result.records] == ["kept"]
    assert result.reasons == [
        "The trial took more than 2 s and was ended. It was running record 2 through transformation first (Unruly)."
    ]


def test_what_hangs_before_the_first_record_is_named():
    assert unruly("hang early", {"n": 1}, seconds=2.0).reasons == [
        "The trial took more than 2 s and was ended. It was making its converters and transformations."
    ]


@pytest.mark.promise("P6")
def test_what_crashes_is_named_with_the_step():
    result = unruly("crash", {"n": 1}, {"bad": 2})
    assert len(result.records) == 1
    ended = "The trial's process ended by itself with exit code 7."
    assert result.reasons == [f"{ended} It was running record 2 through transformation first (Unruly)."]


def test_a_program_that_outlives_the_process_keeps_nobody_waiting(tmp_path):
    result = unruly("leave a child", {"bad": 2}, transforms__first__folder=str(tmp_path))
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert "exit code 7" in result.reasons[0]


def test_what_is_written_to_the_control_pipe_is_not_believed():
    result = unruly("garble", {"bad": 2})
    assert result.records == []
    assert result.reasons == ["The trial's process wrote what is not a message to its control pipe, and was ended."]


@pytest.mark.promise("P8")
@pytest.mark.parametrize("kind", ["sink", "source"])
@pytest.mark.parametrize("names", [None, ""])
def test_secrets_of_the_configuration_are_not_shown(kind, names):
    config = {"transforms__first__secret": "hunter22", "kind": kind}
    worker = {} if names is None else {"tap.mask.fields": names}
    told = unruly("tell", {"bad": 2, "password": "pw-51x"}, worker=worker, **config)
    assert ("pw-51x" in repr(told)) is (names is not None)  # the records' own are masked by their names
    for result in (told, unruly("raise", {"bad": 2}, worker=worker, **config)):
        assert "hunter22" not in repr(result)
        assert MASK in repr(result.records[0].steps)
    with pytest.raises(WrongTrialError, match="cannot be used with \\[hidden\\]"):
        unruly("refuse", {"n": 1}, **config)


def test_records_too_large_to_be_shown_are_said_and_the_others_shown():
    result = unruly("grow", {"bad": 1}, {"n": 2})
    assert [record.verdict for record in result.records] == ["kept"]
    assert result.reasons == ["Record 1 is too large to be shown."]


def test_all_records_together_are_bounded():
    most = {"texts": ["x" * 3000] * 70}
    result = run_trial(spec(*[most] * 20), PATIENCE_S)
    count = len(result.records)
    assert 1 < count < 20
    assert result.reasons == [f"The records after the first {count} are too large to be shown with them."]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"value__converter": "Nobody"}, "Nobody"),
        ({"transforms": "x"}, "transforms.x.type"),
        ({"errors__tolerance": "some"}, "errors.tolerance"),
    ],
)
def test_a_wrong_configuration_is_an_error_and_not_a_result(change, said):
    with pytest.raises(WrongTrialError, match=said):
        run_trial(spec({"n": 1}, **change), PATIENCE_S)


def test_a_wrong_sample_is_named_before_anything_runs():
    wrong = spec({"n": 1})
    wrong.samples.append(json.dumps({"payload": 1, "size": 2}))
    with pytest.raises(WrongTrialError, match='key "samples": record 2: size: is not a field of a record'):
        run_trial(wrong, PATIENCE_S)
