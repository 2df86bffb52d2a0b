"""`connect ui` in front of Apache Kafka Connect's own worker: what it tells is shown, what it does not know says so."""

import re
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from connect.kafka.broker.embedded import Broker
from tests.support.pages import connect_ui

from .conversation import Ask, Wait
from .parties import java_command, party

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

CONFIG = {"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "topic": "java-pages"}


def get(url: str, form: bytes | None = None) -> str:
    """A page, or what a form of it leads to."""
    with urllib.request.urlopen(urllib.request.Request(url, form), timeout=60) as answer:
        return str(answer.read().decode())


def test_the_pages_serve_a_java_worker(
    broker: Broker, tmp_path: Path, cannot_have: Callable[[str, object], NoReturn]
) -> None:
    command = java_command("distributed", cannot_have)
    with party("java", "distributed", command, tmp_path / "java", broker.bootstrap_servers, {}) as worker:
        assert worker.ask(Ask("lines", "PUT", "/connectors/lines/config", {**CONFIG, "file": "{folder}/in.txt"})).status
        worker.wait(Wait("/connectors/lines/status", ("tasks", 0, "state"), "RUNNING"))
        with connect_ui(worker.port) as page:
            assert "Everything runs." in get(page)
            assert "lines" in get(f"{page}/connectors")
            of_one = get(f"{page}/connectors/lines")
            assert "RUNNING" in of_one
            assert " disabled" not in of_one  # it knows no roles
            assert "lines: task 0" in re.sub(r"<[^>]*>", "", get(f"{page}/cluster"))
            assert "java-pages" in get(f"{page}/graph")
            assert "org.apache.kafka.connect.file.FileStreamSinkConnector" in get(f"{page}/new")
            assert 'name="key:file"' in get(f"{page}/new?class={CONFIG['connector.class']}")
            assert "InsertField" in get(f"{page}/plugins")
            for missing in ("history", "tap?records=1"):
                with pytest.raises(urllib.error.HTTPError) as refused:
                    get(f"{page}/connectors/lines/{missing}")
                assert "<h1>" in refused.value.read().decode()  # a page, in words
            with urllib.request.urlopen(f"{page}/live?page=/ui/connectors/lines", timeout=60) as events:
                assert events.readline() == b"event: parts\n"
                assert b"RUNNING" in events.readline()
                assert "The connector pauses." in get(f"{page}/connectors/lines", b"do=pause")
                assert b"PAUSED" in next(line for line in events if b"PAUSED" in line)
