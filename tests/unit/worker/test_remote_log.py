"""What a pack logs that belongs to none of its tasks stands among the lines of its worker."""

import contextvars
import io
import json
import logging
import re
from collections.abc import Iterator

import pytest

from connect.telemetry.redaction import Redactor
from connect.worker import remote_log


@pytest.fixture
def stderr(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """In place of standard error. The loggers are as before in the end."""
    stream = io.StringIO()
    monkeypatch.setattr(remote_log._STDERR, "stream", stream)
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.parametrize("style", ["text", "json"])
def test_a_line_of_no_task_is_one_of_the_worker_s_log(stderr: io.StringIO, style: str) -> None:
    hides = Redactor()
    hides.remember(["s3cret"])
    remote_log.send_logs(None, hides, logging.INFO, style=style)
    logging.getLogger("x.Y").error("no login with s3cret\n2026-01-01T00:00:00.000+00:00 INFO  worker  a forged line")
    if style == "json":
        (line,) = map(json.loads, stderr.getvalue().splitlines())
        assert (line["level"], line["logger"]) == ("ERROR", "x.Y")
    else:
        assert re.match(r"\d{4}-\S+ ERROR x\.Y  no login with \[hidden\]\n  2026-", stderr.getvalue())
    assert "s3cret" not in stderr.getvalue()


def test_what_a_process_logs_that_waits_for_a_task_is_not_written(stderr: io.StringIO) -> None:
    remote_log.send_logs(None, Redactor(), logging.INFO)
    context = contextvars.copy_context()
    context.run(remote_log.channel_of_task.set, remote_log.Nowhere())
    context.run(logging.getLogger("x.Y").error, "it is loading")
    logging.getLogger("x.Y").error("of no task")
    assert re.fullmatch(r"\S+ ERROR x\.Y  of no task\n", stderr.getvalue())
