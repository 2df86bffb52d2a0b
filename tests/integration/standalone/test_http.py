"""The HTTP connectors' example files in `connect standalone`, against an API of the test's own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.standalone.conftest import Standalone
from tests.servers.rest_api import RestApi, rest_api

CONFIG = Path(__file__).parents[3] / "config"


@pytest.fixture
def api() -> Iterator[RestApi]:
    with rest_api() as server:
        yield server


def written(standalone: Standalone, name: str, **changes: str) -> str:
    """An example of config/ with some lines changed, and named as it is."""
    text = (CONFIG / name).read_text("utf-8")
    for key, value in changes.items():
        text, count = re.subn(rf"(?m)^{re.escape(key.replace('_', '.'))}=.*$", f"{key.replace('_', '.')}={value}", text)
        assert count == 1, key
    (standalone.folder / name).write_text(text)
    return name


def test_the_examples_carry_records_from_one_api_to_another(standalone: Standalone, topic: str, api: RestApi) -> None:
    standalone.worker({})
    api.items = [{"id": n, "updated_at": f"2026-11-27T10:00:{n:02d}Z"} for n in range(25)]
    api.field = "updated_at"
    files = (
        written(
            standalone,
            "connect-http-source.properties",
            http_url=f"{api.url}/link",
            topic=topic,
            poll_interval_ms="200",
        ),
        written(standalone, "connect-http-sink.properties", http_url=f"{api.url}/hook", topics=topic),
    )
    running = standalone.start(*files)
    running.until(lambda: len(api.values) == 25)
    api.items += [{"id": 25, "updated_at": "2026-11-27T10:01:00Z"}]
    running.until(lambda: [value["id"] for value in api.values] == list(range(26)))
    assert {seen.query.get("since") for seen in api.requests if seen.method == "GET"} >= {"2026-11-27T10:00:24Z"}
    assert running.stop() == 0
