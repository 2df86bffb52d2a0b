"""The filtered stream: what comes, what is kept in step, what a broken connection costs."""

import json
import logging
import time
from collections.abc import Callable
from typing import Any

import pytest

from connect import ConfigError, ConnectError
from connect.data.schema import STRING
from connect.testing import SourceRun
from connectors.twitter import ids
from connectors.twitter.schemas import RESOLVED
from tests.servers.twitter import Fault, TwitterServer
from tests.support.waiting import until

Run = Callable[..., SourceRun]
Until = Callable[..., None]
Texts = Callable[[SourceRun], list[str]]

STREAM = {"mode": "stream"}


def _connected(x: TwitterServer, run: SourceRun, until: Until, times: int = 1) -> None:
    until(run, lambda: x.connected >= times and x.listeners, f"connection {times}")


# What comes.


def test_a_post_becomes_a_record(x: TwitterServer, run: Run, poll_until: Until) -> None:
    with run(expansions="author_id,referenced_tweets.id", twitter_rule_k="#kafka") as running:
        _connected(x, running, poll_until)
        before = x.post("the first", by="bob")
        post = x.post("see this #kafka", referenced_tweets=[{"type": "quoted", "id": str(before)}])
        (record,) = running.poll_until(1)
    assert (record.topic, record.key, record.key_schema) == ("posts", str(post), STRING)
    assert record.value_schema == RESOLVED
    assert record.timestamp == ids.made_at(post)
    assert (record.source_partition, record.source_offset) == (STREAM, {"since_id": str(post)})
    value = record.value
    assert (value["id"], value["text"], value["lang"]) == (str(post), "see this #kafka", "en")
    assert value["author"]["username"] == "alice"
    assert value["referenced_tweets"][0]["tweet"]["text"] == "the first"
    assert [rule["tag"] for rule in value["matching_rules"]] == ["connect:test/k"]


def test_only_what_is_selected_comes(x: TwitterServer, run: Run, poll_until: Until) -> None:
    with run(tweet_fields="lang", user_fields="verified", twitter_includes="arrays") as running:
        _connected(x, running, poll_until)
        x.post("#kafka")
        value = running.poll_until(1)[0].value
    assert (value["lang"], value["created_at"]) == ("en", None)
    (user,) = value["includes"]["users"]
    assert (user["verified"], user["created_at"]) == (False, None)


def test_raw_json_is_what_was_sent(x: TwitterServer, run: Run, poll_until: Until) -> None:
    with run(twitter_record_format="raw") as running:
        _connected(x, running, poll_until)
        post = x.post("#kafka 汉字")
        (record,) = running.poll_until(1)
    found = json.loads(record.value)
    assert found["data"]["id"] == str(post)
    assert set(found) == {"data", "includes", "matching_rules"}
    assert record.value_schema == STRING


def test_lines_that_hold_no_post_cost_no_other(x: TwitterServer, run: Run, poll_until: Until, texts: Texts) -> None:
    with run() as running:
        _connected(x, running, poll_until)
        x.say(b'{"data": ')
        x.say(b"[1]")
        x.say(b'{"data": {"text": "no id"}}')
        x.post("good #kafka")
        running.poll_until(1)
        assert running.metric("twitter_errors_total") == 3
    assert texts(running) == ["good #kafka"]


# Rules.


def test_rules_are_kept_in_step_and_those_of_others_untouched(x: TwitterServer, run: Run, poll_until: Until) -> None:
    x.rule("dogs", "somebody else's")
    x.rule("birds")
    x.rule("old rule", "connect:test")
    x.rule("near", "connect:testing")
    with run(twitter_rules="#kafka,cats") as running:
        _connected(x, running, poll_until)
        others = {"dogs": "somebody else's", "birds": None, "near": "connect:testing"}
        assert x.tags() == {**others, "#kafka": "connect:test", "cats": "connect:test"}
        running.restart({"twitter.rules": "cats", "twitter.rule.tea": "tea OR #chai"})
        _connected(x, running, poll_until, 2)
        assert x.tags() == {**others, "cats": "connect:test", "tea OR #chai": "connect:test/tea"}
        running.restart({"twitter.rules": "tea OR #chai,cats", "twitter.rule.tea": None})  # type: ignore[dict-item]
        _connected(x, running, poll_until, 3)
        assert x.tags() == {**others, "cats": "connect:test", "tea OR #chai": "connect:test"}


def test_a_rule_that_somebody_deletes_comes_back(x: TwitterServer, run: Run, poll_until: Until) -> None:
    with run(twitter_rules_check_interval_ms="50") as running:
        _connected(x, running, poll_until)
        x.rules.clear()
        poll_until(running, x.tags, "the rule is there again")
        assert x.connected == 1


def test_posts_of_others_rules_are_left_out(x: TwitterServer, run: Run, poll_until: Until, texts: Texts) -> None:
    x.rule("dogs", "somebody else's")
    with run() as running:
        _connected(x, running, poll_until)
        x.post("dogs")
        x.post("dogs and #kafka")
        running.poll_until(1)
        assert running.metric("twitter_others_posts_total") == 1
    assert texts(running) == ["dogs and #kafka"]


def test_a_rule_that_somebody_else_has_is_shared(x: TwitterServer, run: Run, poll_until: Until) -> None:
    x.rule("#kafka", "somebody else's")
    with run() as running:
        _connected(x, running, poll_until)
        x.post("#kafka")
        running.poll_until(1)
    assert x.tags() == {"#kafka": "somebody else's"}


def test_rules_may_be_left_alone(x: TwitterServer, run: Run, poll_until: Until) -> None:
    x.rule("dogs", "somebody else's")
    with run(twitter_rules_manage="false") as running:
        _connected(x, running, poll_until)
        x.post("dogs")
        running.poll_until(1)
    assert x.tags() == {"dogs": "somebody else's"}


def test_all_pages_of_rules_are_seen(x: TwitterServer, run: Run, poll_until: Until) -> None:
    x.page_of_rules = 2
    for number in range(5):
        x.rule(f"old{number}", "connect:test")
    with run() as running:
        _connected(x, running, poll_until)
    assert x.tags() == {"#kafka": "connect:test"}


@pytest.mark.parametrize("bad", ["has:nonsense cats", "x" * 600])
def test_a_rule_that_x_refuses_is_named_and_changes_nothing(x: TwitterServer, run: Run, bad: str) -> None:
    x.rule("old", "connect:test")
    with (
        pytest.raises(ConfigError, match=r'key "twitter.rule.bad": ".*" is refused by X: .+') as raised,
        run(twitter_rules="good", twitter_rule_bad=bad) as running,
    ):
        running.poll_until(1)
    assert x.tags() == {"old": "connect:test"}
    assert "\n" not in str(raised.value)


def test_too_many_rules_are_told(x: TwitterServer, run: Run) -> None:
    x.most_rules = 2
    x.rule("dogs", "somebody else's")
    said = "X takes no more rules of this app: Rule cap of 2"
    with pytest.raises(ConfigError, match=said), run(twitter_rules="a,b") as running:
        running.poll_until(1)


def test_old_rules_make_room_where_there_is_none(x: TwitterServer, run: Run, poll_until: Until) -> None:
    x.most_rules = 2
    x.rule("old", "connect:test")
    with run(twitter_rules="a,b") as running:
        _connected(x, running, poll_until)
    assert set(x.tags()) == {"a", "b"}


# Disconnections.


@pytest.mark.promise("P1", "P10")
@pytest.mark.parametrize(("how", "notice"), [("clean", False), ("abrupt", False), ("clean", True)])
def test_what_is_missed_while_disconnected_is_searched_for(
    x: TwitterServer, run: Run, poll_until: Until, texts: Texts, how: str, notice: bool
) -> None:
    with run() as running:
        _connected(x, running, poll_until)
        x.post("one #kafka")
        running.poll_until(1)
        x.disconnect(how, notice=notice)
        x.post("two #kafka", unseen=True)
        _connected(x, running, poll_until, 2)
        x.post("three #kafka")
        running.poll_until(3)
        poll_until(running, lambda: x.asked("search"), "the gap is filled")
        running.poll_all()
        x.post("four #kafka")
        running.poll_until(4)
        assert sorted(texts(running)) == sorted(f"{n} #kafka" for n in ("one", "two", "three", "four"))
        assert running.metric("twitter_stream_notices_total") == notice
        ((partition, offset),) = running.offsets
        assert partition == STREAM
        assert offset == {"since_id": running.records[-1].key}


@pytest.mark.promise("P1", "P10")
def test_a_restart_fills_the_gap(x: TwitterServer, run: Run, poll_until: Until, texts: Texts) -> None:
    with run(twitter_backfill_overlap_ms="0") as running:
        _connected(x, running, poll_until)
        x.post("one #kafka")
        running.poll_until(1)
        running.restart()
        for number in range(250):
            x.post(f"{number} #kafka", unseen=True)
        running.poll_until(251)
        assert sorted(texts(running)) == sorted(["one #kafka", *(f"{number} #kafka" for number in range(250))])


@pytest.mark.promise("P1", "P10")
def test_a_gap_that_is_not_filled_is_filled_by_the_next_task(
    x: TwitterServer, run: Run, poll_until: Until, texts: Texts
) -> None:
    with run(twitter_backfill_settle_ms="3600000", twitter_backfill_overlap_ms="0") as running:
        _connected(x, running, poll_until)
        x.post("one #kafka")
        running.poll_until(1)
        x.disconnect()
        x.post("two #kafka", unseen=True)
        _connected(x, running, poll_until, 2)
        x.post("three #kafka")
        running.poll_until(2)
        assert "gap_since_id" in running.offsets[0][1]
        running.crash()
        running.restart({"twitter.backfill.settle.ms": "10"})
        running.poll_until(3)
        running.poll_all()
        assert texts(running) == ["one #kafka", "three #kafka", "two #kafka"]
        x.post("four #kafka")
        poll_until(running, lambda: texts(running)[-1] == "four #kafka")
        assert "gap_since_id" not in running.offsets[0][1]


def test_x_fills_the_gap_where_the_access_level_has_that(
    x: TwitterServer, run: Run, poll_until: Until, texts: Texts
) -> None:
    x.backfill_allowed = True
    with run(twitter_backfill_minutes="5") as running:
        _connected(x, running, poll_until)
        x.post("one #kafka")
        running.poll_until(1)
        x.disconnect()
        x.post("two #kafka", unseen=True)
        running.poll_until(2)
        _connected(x, running, poll_until, 2)
        x.post("three #kafka")
        running.poll_until(3)
        assert texts(running) == ["one #kafka", "two #kafka", "three #kafka"]
        assert [asked.get("backfill_minutes") for asked in x.asked("stream")] == [None, "1"]
        assert running.metric("twitter_duplicates_total") == 1
        assert not x.asked("search")


def test_search_fills_the_gap_where_x_will_not(x: TwitterServer, run: Run, poll_until: Until, texts: Texts) -> None:
    with run(twitter_backfill_minutes="5") as running:
        _connected(x, running, poll_until)
        x.post("one #kafka")
        running.poll_until(1)
        x.disconnect()
        x.post("two #kafka", unseen=True)
        running.poll_until(2)
        assert texts(running) == ["one #kafka", "two #kafka"]
        assert [asked.get("backfill_minutes") for asked in x.asked("stream")] == [None, "1", None]


def test_a_gap_without_access_to_search_is_told(
    x: TwitterServer, run: Run, poll_until: Until, texts: Texts, caplog: pytest.LogCaptureFixture
) -> None:
    x.search_allowed = False
    with run() as running:
        _connected(x, running, poll_until)
        x.post("one #kafka")
        running.poll_until(1)
        x.disconnect()
        _connected(x, running, poll_until, 2)
        poll_until(running, lambda: running.metric("twitter_gaps_unfilled_total") == 1)
        x.post("two #kafka")
        running.poll_until(2)
    assert texts(running) == ["one #kafka", "two #kafka"]
    (said,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "is not filled" in said.getMessage()
    assert "recent search" in said.getMessage()


def test_a_rule_that_search_does_not_know_costs_no_other(
    x: TwitterServer, run: Run, poll_until: Until, texts: Texts
) -> None:
    x.refuses_in_search = "sample:"
    with run(twitter_rules="#kafka,#tea,#rust sample:10") as running:
        _connected(x, running, poll_until)
        x.post("one #kafka")
        running.poll_until(1)
        x.disconnect()
        x.post("two #tea", unseen=True)
        running.poll_until(2)
        poll_until(running, lambda: running.metric("twitter_gaps_unfilled_total") == 1)
    assert texts(running) == ["one #kafka", "two #tea"]


def test_a_gap_of_more_than_seven_days_is_told(
    x: TwitterServer, run: Run, poll_until: Until, texts: Texts, caplog: pytest.LogCaptureFixture
) -> None:
    days = 86_400
    old = x.post("old #kafka", when=time.time() - 9 * days)
    x.post("lost #kafka", when=time.time() - 8 * days)
    x.post("found #kafka", when=time.time() - 6 * days)
    with run(offsets=[(STREAM, {"since_id": str(old)})]) as running:
        _connected(x, running, poll_until)
        running.poll_until(1)
        assert texts(running) == ["found #kafka"]
        assert running.metric("twitter_gap_lost_seconds") == pytest.approx(2 * days, abs=120)
    assert "reaches back seven days" in caplog.text


def test_a_gap_is_filled_when_search_can_find_everything(
    x: TwitterServer, run: Run, poll_until: Until, texts: Texts
) -> None:
    x.search_lag_s = 0.6
    with run(twitter_backfill_settle_ms="900") as running:
        _connected(x, running, poll_until)
        x.post("one #kafka")
        running.poll_until(1)
        x.disconnect()
        x.post("two #kafka", unseen=True)
        _connected(x, running, poll_until, 2)
        x.post("three #kafka")
        running.poll_until(3)
    assert texts(running) == ["one #kafka", "three #kafka", "two #kafka"]


def test_a_post_that_came_late_is_in_the_gap(x: TwitterServer, run: Run, poll_until: Until, texts: Texts) -> None:
    with run() as running:
        _connected(x, running, poll_until)
        x.post("made last #kafka")
        running.poll_until(1)
        x.post("made before, and not sent yet #kafka", when=time.time() - 5, unseen=True)
        x.disconnect()
        running.poll_until(2)
        running.poll_all()
    assert texts(running) == ["made last #kafka", "made before, and not sent yet #kafka"]


def test_a_stream_that_never_rests_keeps_no_gap_open(
    x: TwitterServer, run: Run, poll_until: Until, texts: Texts
) -> None:
    with run(queue_batch_size="1") as running:
        _connected(x, running, poll_until)
        x.post("one #kafka")
        running.poll_until(1)
        x.disconnect()
        x.post("two #kafka", unseen=True)
        _connected(x, running, poll_until, 2)
        for number in range(300):
            x.post(f"{number} #kafka")
        running.poll_until(302)
    assert texts(running).index("two #kafka") < 290


@pytest.mark.promise("P1")
def test_a_gap_is_filled_though_no_connection_lasts_so_long(
    x: TwitterServer, run: Run, poll_until: Until, texts: Texts
) -> None:
    with run(twitter_sort_max_bytes="0") as running:
        _connected(x, running, poll_until)
        x.post("first #kafka")
        running.poll_until(1)
        x.disconnect()
        for number in range(1000):  # ten pages
            x.post(f"{number} #kafka", unseen=True)
        while len(asked := x.asked("search")) < 10:
            connections = x.connected
            x.disconnect()
            poll_until(running, lambda: x.connected > connections and len(x.asked("search")) > len(asked))  # noqa: B023
            x.post(f"missed after {len(asked)} #kafka", unseen=True)
        running.poll_until(len(x.posts))
        assert len({asked.get("next_token") for asked in x.asked("search")[:10]}) == 10
        while "gap_since_id" in running.offsets[0][1]:
            x.post("on the stream #kafka")
            running.poll_until(len(x.posts))
    assert sorted(texts(running)) == sorted(post["text"] for post in x.posts)


def test_an_older_gap_is_searched_for_also_where_x_sends_the_last_minutes_again(
    x: TwitterServer, run: Run, poll_until: Until, texts: Texts
) -> None:
    x.backfill_allowed = True
    before = x.post("before the gap #kafka", when=time.time() - 7200)
    x.post("in the gap #kafka", when=time.time() - 3600)
    last = x.post("after the gap #kafka", when=time.time() - 5)
    stored = {"since_id": str(last), "gap_since_id": str(before)}
    with run(twitter_backfill_minutes="5", offsets=[(STREAM, stored)]) as running:
        running.poll_until(1)
        assert texts(running) == ["in the gap #kafka"]
        assert x.asked("stream")[0]["backfill_minutes"] == "1"


def test_a_gap_that_is_filled_is_named_no_more(x: TwitterServer, run: Run, poll_until: Until, texts: Texts) -> None:
    rules = [f"#kafka -{'x' * 40}", f"#tea -{'y' * 40}"]  # too long for one query
    with run(twitter_rules=",".join(rules), twitter_rule_max_length="64", twitter_backfill_overlap_ms="0") as running:
        _connected(x, running, poll_until)
        x.post("one #kafka")
        running.poll_until(1)
        running.restart()
        x.post("two #tea", unseen=True)
        x.post("three #kafka", unseen=True)
        running.poll_until(3)
        assert running.offsets[0][1] == {"since_id": str(max(int(record.key) for record in running.records))}
        assert len({asked["query"] for asked in x.asked("search")}) == 2
        running.restart()
        x.post("four #kafka", unseen=True)
        running.poll_until(4)
    assert texts(running) == ["one #kafka", "three #kafka", "two #tea", "four #kafka"]


def test_a_gap_that_nothing_fills_is_told(
    x: TwitterServer, run: Run, poll_until: Until, caplog: pytest.LogCaptureFixture
) -> None:
    with run(twitter_backfill_search="false") as running:
        _connected(x, running, poll_until)
        x.post("one #kafka")
        running.poll_until(1)
        x.disconnect()
        poll_until(running, lambda: running.metric("twitter_gaps_unfilled_total") == 1)
        assert not x.asked("search")
    assert "may be missing" in caplog.text


@pytest.mark.parametrize("packed", [False, True])
def test_a_stream_may_be_packed(x: TwitterServer, run: Run, poll_until: Until, texts: Texts, packed: bool) -> None:
    x.gzip = packed
    with run() as running:
        _connected(x, running, poll_until)
        for number in range(50):
            x.post(f"{number} #kafka {'汉字' * 2000}")
        running.poll_until(50)
        x.post("#kafka alone")
        running.poll_until(51)
    assert [text.split()[0] for text in texts(running)[:50]] == [str(number) for number in range(50)]


@pytest.mark.promise("P8")
def test_credentials_go_nowhere_else(x: TwitterServer, run: Run) -> None:
    other = TwitterServer()
    try:
        x.fail("rules", Fault(307, "", {"Location": f"{other.url}/2/tweets/search/stream/rules"}))
        with pytest.raises(ConnectError, match="X refuses the rules of the stream .307"), run() as running:
            running.poll_until(1)
        assert not other.requests
    finally:
        other.close()


def test_a_silent_connection_is_made_anew(x: TwitterServer, run: Run, poll_until: Until, texts: Texts) -> None:
    with run(twitter_stream_keepalive_timeout_ms="300") as running:
        x.keepalive_s = 0.05
        _connected(x, running, poll_until)
        x.post("one #kafka")
        running.poll_until(1)
        x.silent = True
        poll_until(running, lambda: running.metric("twitter_stream_disconnects_total"), "it is given up")
        x.silent = False
        _connected(x, running, poll_until, 2)
        x.post("two #kafka")
        running.poll_until(2)
    assert texts(running) == ["one #kafka", "two #kafka"]


def test_a_connection_with_empty_lines_lives(x: TwitterServer, run: Run, poll_until: Until) -> None:
    x.keepalive_s = 0.02
    with run(twitter_stream_keepalive_timeout_ms="1000") as running:
        _connected(x, running, poll_until)
        began = time.monotonic()
        poll_until(running, lambda: time.monotonic() > began + 1.6)
        assert x.connected == 1


@pytest.mark.promise("P7")
def test_what_waits_is_bounded_and_a_slow_reader_catches_up(
    x: TwitterServer, run: Run, poll_until: Until, texts: Texts
) -> None:
    # Some MiB fit into the buffers of two sockets, and much more of it when it is compressed.
    x.most_waiting = 1 << 20
    x.gzip = False
    with run(queue_max_bytes="65536", twitter_dedup_window="100000") as running:
        _connected(x, running, poll_until)
        x.post("one #kafka")
        running.poll_until(1)
        (listener,) = x.listeners
        sent = 0
        while listener.end is None:
            x.post(f"#kafka {sent} {'x' * 20_000}")
            sent += 1
            assert sent < 2000, "X would have disconnected long ago"
        assert running.task._source._inbox.bytes < 65536 + 30_000  # type: ignore[attr-defined]
        running.poll_until(sent + 1)
        assert len(set(texts(running))) == sent + 1


# Refusals.


def test_a_bad_token_is_said_clearly_and_shown_nowhere(
    x: TwitterServer, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    wrong = "AAAAAAAA-wrong-token"
    with (
        pytest.raises(
            ConnectError, match=r"does not accept our credentials .*\(401: Unauthorized\).*bearer.token"
        ) as e,
        run(twitter_bearer_token=wrong) as running,
    ):
        running.poll_until(1)
    assert wrong not in str(e.value)
    assert wrong not in caplog.text


@pytest.mark.parametrize(
    ("status", "said"), [(403, "does not let this app use the filtered stream"), (402, "wants to be paid")]
)
def test_what_does_not_pass_ends_the_task(x: TwitterServer, run: Run, status: int, said: str) -> None:
    x.fail("stream", Fault(status, {"title": "Client Forbidden", "detail": "Not for this app."}))
    with pytest.raises(ConnectError, match=said + ".*Not for this app"), run() as running:
        running.poll_until(1)


def test_posts_before_an_end_are_handed_on(x: TwitterServer, run: Run, poll_until: Until, texts: Texts) -> None:
    running = run().start()
    _connected(x, running, poll_until)
    x.tokens = set()
    x.post("last #kafka")
    x.disconnect()
    poll_until(running, lambda: not x.listeners)
    with pytest.raises(ConnectError, match="401"):
        running.poll_until(2)
    running.stop()
    assert texts(running) == ["last #kafka"]


def test_what_passes_is_waited_for(x: TwitterServer, run: Run, poll_until: Until) -> None:
    x.fail("rules", Fault(503, "busy"), Fault(429, {"title": "Too Many Requests"}), Fault(500, "{"))
    full = {"title": "ConnectionException", "detail": "At the limit.", "connection_issue": "TooManyConnections"}
    x.fail("stream", Fault(503, "busy"), Fault(429, full), Fault(502, ""))
    with run() as running:
        _connected(x, running, poll_until)
        assert running.metric("twitter_errors_total") == 6
        assert len(x.asked("stream")) == 4


@pytest.mark.slow
def test_a_limit_is_waited_for_until_it_ends(x: TwitterServer, run: Run, poll_until: Until) -> None:
    reset = int(time.time()) + 2
    headers = {"x-rate-limit-limit": "50", "x-rate-limit-remaining": "0", "x-rate-limit-reset": str(reset)}
    x.fail("stream", Fault(429, {"title": "Too Many Requests"}, headers))
    with run() as running:
        _connected(x, running, poll_until)
        assert time.time() >= reset
        assert len(x.asked("stream")) == 2
        assert running.metric("twitter_rate_limit_reset_timestamp_seconds") == reset


def test_a_second_connection_waits_for_the_first_to_end(
    x: TwitterServer, run: Run, poll_until: Until, texts: Texts
) -> None:
    with run() as second:
        with run() as first:
            _connected(x, first, poll_until)
            poll_until(second, lambda: second.metric("twitter_errors_total") > 1, "X allows one connection")
        _connected(x, second, poll_until, 2)
        x.post("#kafka")
        second.poll_until(1)
    assert texts(second) == ["#kafka"]


def test_no_rules_at_x_are_put_there_again(x: TwitterServer, run: Run, poll_until: Until) -> None:
    with run() as running:
        _connected(x, running, poll_until)
        x.rules.clear()
        x.disconnect()
        _connected(x, running, poll_until, 2)
    assert set(x.tags()) == {"#kafka"}


def test_a_host_that_is_not_there_is_named(run: Run) -> None:
    with (
        run(twitter_base_url="http://127.0.0.1:1", twitter_retry_attempts="2") as running,
        pytest.raises(ConnectError, match=r"http://127.0.0.1:1 cannot be reached for the rules .*ConnectionRefused"),
    ):
        running.poll_until(1)


@pytest.mark.promise("P11")
@pytest.mark.parametrize("fault", [Fault(), Fault(503, "busy"), Fault(wait_s=20)])
def test_a_stop_ends_whatever_is_waited_for(x: TwitterServer, run: Run, poll_until: Until, fault: Fault) -> None:
    x.fail("stream", fault)
    running = run(twitter_backoff_http_ms="600000", timeout=10.0).start()
    poll_until(running, lambda: x.listeners or ((fault.status or fault.wait_s) and x.asked("stream")))
    running.begin_poll()
    running.stop()
    until(lambda: not x.listeners, 10, "the connection closes")  # an empty line would come after 20 s


def test_a_retweet_is_given_once_when_two_connections_bring_it(
    x: TwitterServer, run: Run, poll_until: Until, texts: Texts
) -> None:
    with run(twitter_dedup_window="2") as running:
        _connected(x, running, poll_until)
        post = x.post("one #kafka")
        running.poll_until(1)
        again: dict[str, Any] = {"data": {"id": str(post), "text": "one again"}}
        x.say(json.dumps(again).encode())
        x.post("two #kafka")
        x.post("three #kafka")
        x.say(json.dumps(again).encode())  # it is remembered no more
        running.poll_until(4)
    assert texts(running) == ["one #kafka", "two #kafka", "three #kafka", "one again"]
