"""The driver's side of writing to any sink: what is checked, noted and refused."""

import logging
from pathlib import Path
from typing import Any

import pytest

from connect.errors import ConfigError, ConnectError, DataError
from connect.pipeline.error_kinds import ErrorKind, kind_of
from connect.telemetry.redaction import redactor
from spark_sink.connector_sink import progress_files
from spark_sink.connector_sink.progress_files import Done, Span, Tally

from .raw import COLUMNS, plan, rows

pytest.importorskip("pyspark")

from spark_sink.connector_sink.stream_writer import SinkWriter, WriteFailed, Written, in_executor


def written(*spans: Span, **counts: int) -> Written:
    return Written(Done(spans, Tally(**counts)))


def test_what_micro_batches_wrote_is_noted(tmp_path: Path) -> None:
    writer = SinkWriter(plan("Noting", progress_folder=str(tmp_path)), COLUMNS)
    assert progress_files.read(str(tmp_path)) == progress_files.Progress()
    writer.commit([written(Span("t", 0, 0, 5, 5), read=5, written=4, errors=1), written()], 0)
    writer.commit([written(Span("u", 0, 0, 1, 1), read=1, written=1)], 1)
    tally = Tally(read=6, written=5, errors=1)
    assert progress_files.read(str(tmp_path)) == progress_files.Progress(tally, frozenset({"t", "u"}))
    SinkWriter(plan("Noting", progress_folder=str(tmp_path / "elsewhere")), COLUMNS).commit([written(read=1)], 0)
    assert [file.name for file in tmp_path.iterdir()] == ["written.json"]


def test_what_connectors_measured_is_taken_once_in_its_order(tmp_path: Path) -> None:
    writer = SinkWriter(plan("Noting", progress_folder=str(tmp_path)), COLUMNS)
    writer.commit([Written(Done(measured="1")), written(), Written(Done(measured="2"))], 0)
    writer.commit([Written(Done(measured="3"))], 1)
    assert list(progress_files.take_measured(str(tmp_path))) == ["1", "2", "3"]
    assert list(progress_files.take_measured(str(tmp_path))) == []
    writer.commit([Written(Done(measured="4"))], 2)
    assert list(progress_files.take_measured(str(tmp_path))) == ["4"]
    assert [file.name for file in tmp_path.iterdir()] == ["written.json"]


def test_a_micro_batch_that_is_not_whole_is_refused() -> None:
    writer = SinkWriter(plan("Noting"), COLUMNS)
    with pytest.raises(ConnectError, match="1 tasks of micro-batch 4 have not reported that they are done"):
        writer.commit([written(), None], 4)
    with pytest.raises(ConnectError, match="several Spark tasks of micro-batch 5 wrote t-0"):
        writer.commit([written(Span("t", 0, 0, 1, 1)), written(Span("t", 0, 1, 2, 1))], 5)
    writer.abort([written(), None], 6)


def test_only_raw_rows_are_taken() -> None:
    with pytest.raises(ConnectError, match="have the columns"):
        SinkWriter(plan("Noting"), ["value"])


@pytest.mark.promise("P8", "P9")
def test_an_error_is_one_line_with_its_trace_and_without_secrets(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    secret: dict[str, Any] = {"db.password": "no room"}  # as Failing says
    with pytest.raises(WriteFailed) as caught:
        SinkWriter(plan("Failing", connector=secret), COLUMNS).write(iter([rows(b"a", first=5)]))
    assert str(caught.value) == "Failing.put of t-0@5-5 failed: ValueError: [hidden]"
    trace = str(caught.value.__cause__)
    assert "connector_sink_tasks.py" in trace
    assert "ValueError: [hidden]" in trace
    assert caught.value.__context__ is None
    logging.getLogger("connectors.some").warning("no room for %s", "more")
    assert "WARNING connectors.some: [hidden] for more" in capsys.readouterr().err


@pytest.mark.promise("P8", "P9")
def test_what_no_restart_would_change_stays_an_error_of_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    keeping = plan("Keeping", connector={"db.password": "t-0 from"}, flush_within=0.0)
    with pytest.raises(ConfigError, match=r"Keeping cannot run on Spark .* not durable: \[hidden\] offset 5") as caught:
        SinkWriter(keeping, COLUMNS).write(iter([rows(b"a", first=5)]))
    assert caught.value.key == "engine"


def test_a_record_that_is_wrong_stays_an_error_of_a_record_which_no_restart_mends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    json = {"value.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable": "false"}
    with pytest.raises(DataError, match="t-0@5") as caught:
        SinkWriter(plan("Noting", connector=json), COLUMNS).write(iter([rows(b"{", first=5)]))
    assert "\n" not in str(caught.value)
    assert kind_of(caught.value) is ErrorKind.RECORD


def test_an_executor_knows_secrets_for_what_dead_letters_say() -> None:
    said = in_executor(lambda: redactor.hide("of-s3cr3t-9-kind"), {"ssl.key.password": "s3cr3t-9", "topics": "of"})
    assert said == "of-[hidden]-kind"
