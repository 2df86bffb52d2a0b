import io
import json
import logging
import threading
from collections.abc import Iterator
from datetime import datetime

import pytest

from connect.telemetry import logs
from connect.telemetry.redaction import MASK, Redactor

LOG = logging.getLogger("connect.test_logs")


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def out() -> io.StringIO:
    return io.StringIO()


def test_a_line_says_when_how_bad_what_about_and_what(out: io.StringIO) -> None:
    logs.configure(stream=out, name="orders-sink-0")
    LOG.info("wrote %d records", 3)
    LOG.warning("again")
    first, second = out.getvalue().splitlines()
    when, rest = first.split(" ", 1)
    assert rest == "INFO  orders-sink-0  wrote 3 records"
    assert datetime.fromisoformat(when).tzinfo is not None
    assert second.split(" ", 1)[1] == "WARN  orders-sink-0  again"


def test_a_line_is_about_the_connector_that_is_being_worked_on_in_this_thread(out: io.StringIO) -> None:
    logs.configure(stream=out)
    with logs.about("orders"):
        LOG.info("one")
        other = threading.Thread(target=LOG.info, args=("two",))
        other.start()
        other.join()
        LOG.info("three", extra={"about": "orders-1"})
    LOG.info("four")
    said = [line.split(" ", 1)[1] for line in out.getvalue().splitlines()]
    assert said == ["INFO  orders  one", "INFO  worker  two", "INFO  orders-1  three", "INFO  worker  four"]


def test_json_lines_are_one_object_each_with_the_trace(out: io.StringIO) -> None:
    logs.configure(style="json", stream=out, name="orders-0")
    try:
        raise ValueError("two\nlines")
    except ValueError:
        LOG.exception("broken")
    line = json.loads(out.getvalue())
    assert (line["level"], line["about"], line["logger"], line["message"]) == (
        "ERROR",
        "orders-0",
        "connect.test_logs",
        "broken",
    )
    assert "ValueError: two\nlines" in line["trace"]


def test_an_error_of_another_process_has_its_trace(out: io.StringIO) -> None:
    logs.configure(stream=out)
    logs.error_elsewhere(LOG, "orders-0", "NameError: confg", 'Traceback:\n  File "clock.py", line 7')
    logs.error_elsewhere(LOG, "orders-0", "The disk is full.", None)
    first, *trace, second = out.getvalue().splitlines()
    assert first.split(" ", 1)[1] == "ERROR orders-0  NameError: confg"
    assert trace == ["  Traceback:", '    File "clock.py", line 7']
    assert second.split(" ", 1)[1] == "ERROR orders-0  The disk is full."


def test_an_error_of_another_process_keeps_to_the_level_of_its_logger(out: io.StringIO) -> None:
    logs.configure(stream=out)
    LOG.setLevel(logging.CRITICAL)
    try:
        logs.error_elsewhere(LOG, "orders-0", "The disk is full.", None)
    finally:
        LOG.setLevel(logging.NOTSET)
    assert out.getvalue() == ""


def test_nothing_that_is_logged_passes_for_a_line_of_ours(out: io.StringIO) -> None:
    logs.configure(stream=out)
    LOG.info("value was x\r\n2026-01-01T00:00:00.000+00:00 ERROR worker  forged")
    lines = out.getvalue().splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("  2026")


CONTROL = [chr(code) for code in range(0xA0) if not 0x20 <= code < 0x7F and chr(code) not in "\t\n"]
#: Of Unicode: other line ends, marks that turn the order of signs round, half a pair.
MISLEADING = ["\u2028", "\u2029", "\u200f", "\u202e", "\u2066", "\ud800"]


@pytest.mark.parametrize("style", ["text", "json"])
@pytest.mark.parametrize("where", ["message", "about", "trace", "stack"])
def test_what_a_terminal_would_act_on_does_not_reach_the_stream(style: str, where: str) -> None:
    kept = io.BytesIO()
    out = io.TextIOWrapper(kept, "utf-8", write_through=True)
    logs.configure(style=style, stream=out)  # type: ignore[arg-type]
    # Not by the logger: pytest keeps what that says for its report, where half a pair cannot stand.
    [ours] = [each for each in logging.getLogger().handlers if getattr(each, "stream", None) is out]
    for sign in CONTROL + MISLEADING:
        text = f"a{sign}[31mb\tc"
        record = LOG.makeRecord(LOG.name, logging.ERROR, "", 0, text if where == "message" else "%s", (), None)
        record.args = () if where == "message" else ("said",)
        record.about = text if where == "about" else "orders"
        record.exc_text = text if where == "trace" else None
        record.stack_info = text if where == "stack" else None
        ours.handle(record)
    said = kept.getvalue().decode()
    assert not [sign for sign in CONTROL + MISLEADING if sign in said]
    if style == "text":
        assert "a\\x1b[31mb\tc" in said
        assert "a\\r[31mb\tc" in said
    else:
        field = "trace" if where in ("trace", "stack") else where
        found = [json.loads(line)[field] for line in said.splitlines()]
        assert found == [f"a{sign}[31mb\tc" for sign in CONTROL + MISLEADING]  # a machine reads what was said


@pytest.mark.parametrize("style", ["text", "json"])
def test_secrets_do_not_reach_the_stream(out: io.StringIO, style: str) -> None:
    secrets = Redactor()
    secrets.remember(["hunter2"])
    logs.configure(style=style, stream=out, secrets=secrets)  # type: ignore[arg-type]
    try:
        raise ValueError("hunter2")
    except ValueError:
        LOG.exception("login as %s", "hunter2", stack_info=True)
    assert "hunter2" not in out.getvalue()
    assert MASK in out.getvalue()


def test_configuring_again_replaces_what_was_before(out: io.StringIO) -> None:
    logs.configure(stream=io.StringIO())
    logs.configure("WARN", stream=out)
    LOG.info("not shown")
    LOG.warning("shown")
    assert len(out.getvalue().splitlines()) == 1


def test_a_talkative_library_is_heard_only_when_debugging(out: io.StringIO) -> None:
    logs.configure(stream=out)
    logging.getLogger("kafka.conn").info("connecting")
    assert not out.getvalue()
    logs.configure("DEBUG", stream=out)
    logging.getLogger("kafka.conn").info("connecting")
    assert "connecting" in out.getvalue()


@pytest.mark.parametrize(
    ("level", "style", "message"),
    [("LOUD", "text", '"LOUD" is not a log level. Write one of DEBUG'), ("INFO", "xml", '"xml" is not a log style')],
)
def test_a_wrong_level_or_style_says_what_to_write(level: str, style: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        logs.configure(level, style)  # type: ignore[arg-type]
