"""The sink of docs/webhook-sink.md does what the page promises."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from http.client import responses
from pathlib import Path
from typing import Any

import pytest

from connect import ConfigError, ConnectError, TopicPartition
from connect.testing import SinkRun
from tests.servers.webhook import Webhook, webhook

PAGE = (Path(__file__).parents[3] / "docs" / "webhook-sink.md").read_text("utf-8")
FILES = dict(re.findall(r"<!-- file: (\S+) -->\s*```\w+\n(.*?)```", PAGE, re.DOTALL))
FIRST, SECOND = TopicPartition("test", 0), TopicPartition("test", 1)
DEAD_LETTERS = {"errors.tolerance": "all", "errors.log.enable": "true"}


class Vault:
    """A class of a user's own that returns the token."""

    def configure(self, config: Mapping[str, str]) -> None:
        self.token = config["vault"][::-1]

    def credentials(self) -> str:
        return self.token


@pytest.fixture
def hook() -> Iterator[Webhook]:
    with webhook() as server:
        yield server


@pytest.fixture
def sink(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    (tmp_path / "webhook.py").write_text(FILES["webhook.py"])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("connect.kit.retries.backoff", lambda *_: 0.0)
    yield importlib.import_module("webhook").WebhookSink
    del sys.modules["webhook"]


def put(sink: Any, config: dict[str, str], *values: Any) -> None:
    """Put batches of one value each, with a commit behind each."""
    with SinkRun(sink, config) as run:
        for value in values:
            run.put(value)
            run.commit()


def test_the_page_says_how_long_it_is() -> None:
    assert len(FILES["webhook.py"].splitlines()) == 121
    assert "121 lines" in PAGE


def test_a_batch_is_one_request_and_its_offsets_are_committed(hook: Webhook, sink: Any) -> None:
    with SinkRun(sink, {"webhook.url": hook.url}) as run:
        run.put("a", {"b": 1})
        run.put(None)
        run.commit()
        assert hook.values == ["a", {"b": 1}, None]
        assert hook.requests == [2, 1]
        assert run.committed == {FIRST: 3}


def test_what_failed_is_posted_again(hook: Webhook, sink: Any) -> None:
    hook.unavailable = 3
    with SinkRun(sink, {"webhook.url": hook.url}) as run:
        run.put("a")
        run.commit()
        assert run.committed == {}
        for value in "bcd":
            run.put(value)
            run.commit()
        assert hook.values == ["a", "b", "c", "d"]
        assert run.committed == {FIRST: 4}
        assert run.retries > 0


def test_it_gives_up_after_max_retries(hook: Webhook, sink: Any) -> None:
    hook.unavailable = 1000
    with pytest.raises(ConnectError, match=r"127.0.0.1 answers 503.* Given up after 5 retries \(max\.retries\)"):
        put(sink, {"webhook.url": hook.url}, *"aaaaaaaaa")
    assert hook.refused == 6


@pytest.mark.parametrize("bad", [0, 7, 19])
def test_a_record_that_the_target_refuses_goes_to_the_error_policy_and_others_arrive(
    hook: Webhook, sink: Any, bad: int
) -> None:
    hook.bad = bad
    with SinkRun(sink, {"webhook.url": hook.url, **DEAD_LETTERS}) as run:
        run.put(*range(20))
        run.commit()
        assert [record.value for record, _ in run.errant] == [bad]
        assert str(run.errant[0][1]) == f"127.0.0.1 answers 422 {responses[422]}."
        assert hook.values == [value for value in range(20) if value != bad]
        assert run.committed == {FIRST: 20}
        assert hook.refused <= 8, "the bad record is found by halves"


def test_a_retry_repeats_nothing_that_was_posted_and_reports_nothing_twice(hook: Webhook, sink: Any) -> None:
    hook.bad = 2
    with SinkRun(sink, {"webhook.url": hook.url, **DEAD_LETTERS}) as run:
        answer = hook.status_for
        statuses = iter([422, 422, 204, 422, 503])  # 8 records, 4, 2, 4, and then 2: in the middle of the halves
        hook.status_for = lambda *request: next(statuses, None) or answer(*request)  # type: ignore[method-assign]
        run.put(*range(8))
        run.commit()
        run.put(8)
        run.commit()
        assert [record.value for record, _ in run.errant] == [2]
        assert hook.values == [0, 1, 3, 4, 5, 6, 7, 8]
        assert run.committed == {FIRST: 9}


def test_a_value_that_is_no_json_goes_to_the_error_policy(hook: Webhook, sink: Any) -> None:
    with SinkRun(sink, {"webhook.url": hook.url, **DEAD_LETTERS}) as run:
        run.put(1, b"\x00", float("nan"), 2)
        run.commit()
        assert [record.offset for record, _ in run.errant] == [1, 2]
        assert hook.values == [1, 2]
        assert run.committed == {FIRST: 4}


def test_without_an_error_policy_a_bad_record_fails_the_task(hook: Webhook, sink: Any) -> None:
    hook.bad = "b"
    with pytest.raises(ConnectError, match=r"answers 422.* Set errors\.deadletterqueue\.topic\.name"):
        put(sink, {"webhook.url": hook.url}, "a", "b", "c")


def test_a_refused_record_that_the_error_policy_does_not_take_is_never_committed(hook: Webhook, sink: Any) -> None:
    """A task that failed is asked for its offsets once more when it ends."""
    hook.bad = "b"
    run = SinkRun(sink, {"webhook.url": hook.url}).start()
    run.put("a", "b", "c")
    with pytest.raises(ConnectError, match="answers 422"):
        run.commit()
    with suppress(ConnectError):
        run.stop()
    assert run.committed == {}


@pytest.mark.parametrize("refusal", ["login", "redirect"])
def test_a_refusal_that_does_not_pass_fails_at_once_and_shows_no_secret(hook: Webhook, sink: Any, refusal: str) -> None:
    if refusal == "login":
        hook.token = "right"
    else:
        hook.redirect = hook.url
    with pytest.raises(ConnectError) as raised:
        put(sink, {"webhook.url": hook.url, "webhook.token": "wr0ng-51x"}, "a", "b")
    assert hook.refused == 1
    assert hook.values == []
    assert re.fullmatch(
        r"127\.0\.0\.1 answers (401 Unauthorized|302 Found)\. "
        r"Check webhook\.url and webhook\.token, or what webhook\.token\.class returns\.",
        str(raised.value),
    )


def test_the_token_may_come_from_a_class(hook: Webhook, sink: Any) -> None:
    hook.token = "secret"
    login = {"webhook.token.class": f"{__name__}:Vault", "webhook.token.vault": "terces"}
    with SinkRun(sink, {"webhook.url": hook.url, **login}) as run:
        run.put("a")
        run.commit()
        assert hook.values == ["a"]


def test_a_partition_that_was_lost_is_not_posted(hook: Webhook, sink: Any) -> None:
    hook.unavailable = 1
    with SinkRun(sink, {"webhook.url": hook.url}, partitions=2) as run:
        run.put("a", partition=0, tries=1)
        task: Any = run.task
        task.writer.settle()
        run.put("b", partition=1, tries=1)
        run.lose(FIRST)
        run.put_nothing()
        run.commit()
        assert "b" in hook.values
        assert run.committed == {SECOND: 1}


@pytest.mark.parametrize("url", ["hooks.example", "ftp://hooks.example", "http://", "http://hooks.example:port/"])
def test_an_address_that_is_none_is_refused(sink: Any, url: str) -> None:
    with pytest.raises(ConfigError, match=r'"webhook\.url"'):
        sink.settings.parse({"webhook.url": url})
