"""The source of docs/kit.md does what the page says."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from connect import ConnectError
from connect.testing import SourceRun
from tests.servers.rest_api import Answer, RestApi, rest_api

PAGE = (Path(__file__).parents[3] / "docs" / "kit.md").read_text("utf-8")
FILES = dict(re.findall(r"<!-- file: (\S+) -->\s*```\w+\n(.*?)```", PAGE, re.DOTALL))


@pytest.fixture
def api() -> Iterator[RestApi]:
    with rest_api() as server:
        server.authorization = "Bearer t0ken"
        server.items = [{"id": n} for n in range(25)]
        yield server


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    (tmp_path / "issues.py").write_text(FILES["issues.py"])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("connect.kit.retries.backoff", lambda *_: 0.0)
    yield importlib.import_module("issues").IssuesSource
    del sys.modules["issues"]


def config(api: RestApi, token: str = "t0ken") -> dict[str, str]:
    return {"issues.url": f"{api.url}/link", "issues.token": token, "topic": "issues"}


def test_the_page_says_how_long_it_is() -> None:
    assert len(FILES["issues.py"].splitlines()) <= 33
    assert "in 30 lines" in PAGE


def test_all_pages_are_read_in_spite_of_503(api: RestApi, source: Any) -> None:
    api.script = [None, Answer(503), Answer(429, {"Retry-After": "0"})]
    with SourceRun(source, config(api)) as run:
        records = run.poll_until(25)[:25]
    assert [record.value for record in records] == api.items
    assert [record.key for record in records] == list(range(25))


def test_a_restart_reads_the_page_again_that_was_read_last(api: RestApi, source: Any) -> None:
    offset = ({"url": f"{api.url}/link"}, {"page": f"{api.url}/link?cursor=c10"})
    with SourceRun(source, config(api), offsets=[offset]) as run:
        assert run.poll_until(1)[0].value == {"id": 10}


def test_a_refusal_fails_the_task(api: RestApi, source: Any) -> None:
    with pytest.raises(ConnectError, match="answers 401 Unauthorized"), SourceRun(source, config(api, "wr0ng")) as run:
        run.poll_until(1)
