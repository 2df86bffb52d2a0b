"""Recent search and users' timelines: what is read, in which order, and where reading goes on."""

import logging
import random
import time
from collections.abc import Callable
from typing import Any

import pytest

from connect import ConnectError
from connect.testing import SourceRun
from connectors.twitter.recent import reach
from tests.servers.twitter import TOKEN, Fault, TwitterServer, first_at

Run = Callable[..., SourceRun]
Until = Callable[..., None]
Texts = Callable[[SourceRun], list[str]]

SEARCH = {"mode": "search", "query": "#kafka"}
DAY_S = 86_400


def _posted(x: TwitterServer, count: int, first: int = 0) -> list[str]:
    for number in range(first, first + count):
        x.post(f"{number} #kafka", by="alice")
    return [f"{number} #kafka" for number in range(first, first + count)]


@pytest.fixture(params=["search", "timelines"])
def either(request: pytest.FixtureRequest, run: Run) -> Run:
    """Makes a run of each mode in turn, of the posts that `_posted` makes."""
    return lambda **config: run(twitter_mode=request.param, twitter_users="alice", **config)


# What comes.


def test_pages_are_turned_round(x: TwitterServer, either: Run, texts: Texts) -> None:
    said = _posted(x, 350)
    with either() as running:
        running.poll_until(350)
        said += _posted(x, 3, 350)
        running.poll_until(353)
        assert texts(running) == said
        ((_, offset),) = running.offsets
        assert offset == {"since_id": running.records[-1].key}


def test_what_does_not_fit_into_memory_comes_the_newest_first(x: TwitterServer, either: Run, texts: Texts) -> None:
    said = _posted(x, 350)
    with either(twitter_sort_max_bytes="0") as running:
        running.poll_until(350)
        assert texts(running) == said[::-1]
        assert {len(batch) for batch in running.polled} == {100, 50}
        ((_, offset),) = running.offsets
        assert offset == {"since_id": running.records[0].key}, "the newest, when all is read"
        said += _posted(x, 3, 350)
        running.poll_until(353)
        assert texts(running)[350:] == said[350:]


@pytest.mark.slow
@pytest.mark.promise("P1", "P10")
@pytest.mark.parametrize("held", ["0", "60000", "4000000"])
def test_every_record_says_where_to_go_on(x: TwitterServer, either: Run, texts: Texts, seed: int, held: str) -> None:
    said = _posted(x, 240)
    with either(twitter_sort_max_bytes=held) as running:
        running.poll_until(240)
        records = running.records
    assert sorted(texts(running)) == sorted(said)
    for at in sorted({0, 99, 100, 199, 200, 238, *random.Random(seed).sample(range(239), 4)}):
        offsets = [(records[at].source_partition, records[at].source_offset)]
        with either(twitter_sort_max_bytes=held, offsets=offsets) as resumed:
            resumed.poll_until(239 - at)
            rest = [record.value["text"] for record in resumed.poll_all()]
        assert sorted(rest) == sorted(record.value["text"] for record in records[at + 1 :]), f"after record {at}"


def test_posts_during_a_long_reading_come_with_the_next(x: TwitterServer, either: Run, texts: Texts) -> None:
    said = _posted(x, 250)
    with either(twitter_sort_max_bytes="0", queue_batch_size="60") as running:
        running.poll_until(60)
        said += _posted(x, 30, 250)
        running.poll_until(280)
        assert sorted(texts(running)) == sorted(said)
        assert max(len(batch) for batch in running.polled) == 60


def test_a_token_that_is_too_old_is_gone_on_without(x: TwitterServer, either: Run, texts: Texts) -> None:
    said = _posted(x, 250)
    endpoint = "search"
    with either(twitter_sort_max_bytes="0") as running:
        running.poll_until(100)
        for endpoint in ("search", "timeline"):
            x.fail(endpoint, Fault(400, {"errors": [{"message": "Invalid next_token"}], "title": "Invalid Request"}))
        running.poll_until(250)
        assert texts(running) == said[::-1]


def test_each_query_has_its_own_offset(x: TwitterServer, run: Run, texts: Texts) -> None:
    x.post("#tea")
    x.post("#kafka")
    with run(twitter_mode="search", twitter_rules="#kafka,#tea") as running:
        running.poll_until(2)
        assert {partition["query"] for partition, _ in running.offsets} == {"#kafka", "#tea"}


def test_search_goes_on_after_more_than_seven_days(x: TwitterServer, run: Run, texts: Texts) -> None:
    old = x.post("old #kafka", when=time.time() - 9 * DAY_S)
    x.post("lost #kafka", when=time.time() - 8 * DAY_S)
    x.post("found #kafka", when=time.time() - 6 * DAY_S)
    with run(twitter_mode="search", offsets=[(SEARCH, {"since_id": str(old)})]) as running:
        running.poll_until(1)
        assert texts(running) == ["found #kafka"]
        assert running.metric("twitter_gap_lost_seconds") == pytest.approx(2 * DAY_S, abs=120)


def test_a_quiet_query_loses_nothing_and_says_nothing(
    x: TwitterServer, run: Run, poll_until: Until, texts: Texts, caplog: pytest.LogCaptureFixture
) -> None:
    since = reach() + (3000 << 22)  # in three seconds it is too old: the first search has begun by then
    with run(twitter_mode="search", offsets=[(SEARCH, {"since_id": str(since)})]) as running:
        poll_until(running, lambda: x.asked("search"))
        poll_until(running, lambda: reach() > since)
        asked = len(x.asked("search"))
        poll_until(running, lambda: len(x.asked("search")) > asked + 1)
        x.post("#kafka")
        running.poll_until(1)
    assert "reaches back" not in caplog.text


def test_x_whose_clock_is_ahead_is_believed(x: TwitterServer, run: Run, texts: Texts) -> None:
    since = first_at(time.time() - 3 * DAY_S)
    x.post("#kafka")
    said = {"errors": [{"message": "'since_id' must be a tweet id created after [later]"}], "title": "Invalid Request"}
    x.fail("search", Fault(400, said))
    with run(twitter_mode="search", offsets=[(SEARCH, {"since_id": str(since)})]) as running:
        running.poll_until(1)
    assert [("since_id" in asked) for asked in x.asked("search")][:2] == [True, False]


def test_latest_begins_now(x: TwitterServer, either: Run, texts: Texts) -> None:
    _posted(x, 3)
    time.sleep(0.005)  # another millisecond, by which ids are told apart
    with either(twitter_start="latest") as running:
        _posted(x, 2, 3)
        running.poll_until(2)
        running.poll_all()
        assert texts(running) == ["3 #kafka", "4 #kafka"]


# Users.


def test_users_are_found_by_name_and_by_id(x: TwitterServer, run: Run) -> None:
    for name in ("alice", "bob", "carol"):
        x.post(f"{name} speaks", by=name)
    config = {"twitter_mode": "timelines", "twitter_users": "@Alice,bob", "filter_userIds": x.user("carol")}
    with run(tasks_max="2", **config) as running:
        running.poll_until(3)
        assert len(running.tasks) == 2
        assert sorted(record.value["text"].split()[0] for record in running.records) == ["alice", "bob", "carol"]
        assert {partition["user"] for partition, _ in running.offsets} == {x.user(n) for n in ("alice", "bob", "carol")}
    assert x.asked("users") == [{"usernames": "Alice"}, {"usernames": "bob"}]


def test_users_who_cannot_be_read_keep_nobody_waiting(
    x: TwitterServer, run: Run, texts: Texts, caplog: pytest.LogCaptureFixture
) -> None:
    x.user("shy", protected=True)
    x.post("hello", by="alice")
    with run(twitter_mode="timelines", twitter_users="shy,nobody,alice,1234567890123") as running:
        running.poll_until(1)
        x.post("again", by="alice")
        running.poll_until(2)
    assert texts(running) == ["hello", "again"]
    assert "X knows no user nobody" in caplog.text
    assert "not authorized to see the user" in caplog.text
    assert "Could not find user with id: [1234567890123]" in caplog.text


def test_nobody_to_read_is_an_error(run: Run) -> None:
    with pytest.raises(ConnectError, match="X knows no user nobody. Correct twitter.users"):  # noqa: SIM117
        with run(twitter_mode="timelines", twitter_users="nobody") as running:
            running.poll_until(1)


def test_replies_and_retweets_may_be_left_out(x: TwitterServer, run: Run, texts: Texts) -> None:
    first = str(x.post("mine"))
    x.post("RT", referenced_tweets=[{"type": "retweeted", "id": first}])
    x.post("to you", referenced_tweets=[{"type": "replied_to", "id": first}])
    with run(twitter_mode="timelines", twitter_users="alice", twitter_timeline_exclude="retweets,replies") as running:
        running.poll_until(1)
        running.poll_all()
        assert texts(running) == ["mine"]


# Limits and refusals.


@pytest.mark.slow
def test_no_request_is_made_that_the_limit_forbids(x: TwitterServer, either: Run, texts: Texts) -> None:
    said = _posted(x, 450)
    for endpoint in ("search", "timeline"):
        x.limit(endpoint, 3, window_s=1.5)
    with either() as running:
        running.poll_until(450)
        assert texts(running) == said
        assert running.metric("twitter_errors_total") == 0
        assert running.metric("twitter_rate_limit") == 3


@pytest.mark.slow
def test_a_limit_that_is_said_too_late_is_waited_for(x: TwitterServer, either: Run) -> None:
    _posted(x, 1)
    reset = int(time.time()) + 2
    headers = {"x-rate-limit-remaining": "0", "x-rate-limit-reset": str(reset)}
    for endpoint in ("search", "timeline"):
        x.fail(endpoint, Fault(429, {"title": "Too Many Requests"}, headers))
    with either() as running:
        running.poll_until(1)
        assert time.time() >= reset
        assert running.metric("twitter_errors_total") == 1


@pytest.mark.slow
def test_what_passes_is_tried_again(x: TwitterServer, either: Run, texts: Texts) -> None:
    said = _posted(x, 150)
    for endpoint in ("search", "timeline"):
        x.fail(endpoint, Fault(503, "busy"), Fault(), Fault(500, {}), Fault(200, "{"))
    with either(timeout=30.0) as running:
        running.poll_until(150)
        assert texts(running) == said
        assert running.metric("twitter_errors_total") == 3


@pytest.mark.slow
def test_an_answer_that_does_not_come_is_asked_for_again(x: TwitterServer, either: Run, texts: Texts) -> None:
    said = _posted(x, 1)
    for endpoint in ("search", "timeline"):
        x.fail(endpoint, Fault(wait_s=1.0))
    with either(twitter_request_timeout_ms="200") as running:
        running.poll_until(1)
        assert texts(running) == said


def test_tries_are_bounded(x: TwitterServer, run: Run) -> None:
    x.fail("search", *[Fault(503, "busy")] * 5)
    with pytest.raises(ConnectError, match="more than twitter.retry.attempts allows"):  # noqa: SIM117
        with run(twitter_mode="search", twitter_retry_attempts="1") as running:
            running.poll_until(1)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"twitter_bearer_token": "AAAA-wrong"}, r"does not accept our credentials for recent search \(401: Unauth"),
        ({"twitter_rules": "has:nonsense"}, 'key "twitter.rules": "has:nonsense" is refused by X: .*invalid operator'),
        ({"tweet_fields": "brand_new"}, r"X refuses recent search \(400: .*brand_new"),
        ({"twitter_base_url": "http://127.0.0.1:1", "twitter_retry_attempts": "0"}, "cannot be reached"),
    ],
)
def test_what_does_not_pass_is_said(
    x: TwitterServer, run: Run, caplog: pytest.LogCaptureFixture, config: dict[str, str], said: str
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(ConnectError, match=said) as error, run(twitter_mode="search", **config) as running:
        running.poll_until(1)
    assert "\n" not in str(error.value)
    assert "AAAA-wrong" not in caplog.text + str(error.value)
    assert TOKEN not in caplog.text


@pytest.mark.promise("P8")
def test_a_user_may_sign_instead(x: TwitterServer, run: Run, texts: Texts, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    keys = {"consumer_key": "ck-1f", "consumer_secret": "cs-2f", "token": "at-3f", "token_secret": "as-4f"}
    x.oauth = keys
    names = ("consumerKey", "consumerSecret", "accessToken", "accessTokenSecret")
    config: dict[str, Any] = {f"twitter_oauth_{n}": v for n, v in zip(names, keys.values(), strict=True)}
    x.post("hello", by="alice")
    with run(twitter_mode="timelines", twitter_users="alice", twitter_bearer_token="", **config) as running:
        running.poll_until(1)
    assert texts(running) == ["hello"]
    for secret in keys.values():
        assert secret not in caplog.text
    with (
        pytest.raises(ConnectError, match="does not accept our credentials for the look-up of users"),
        run(
            twitter_mode="timelines",
            twitter_users="alice",
            twitter_bearer_token="",
            **{**config, "twitter_oauth_accessTokenSecret": "wrong"},
        ) as running,
    ):
        running.poll_until(2)


def test_a_stop_ends_a_poll_that_waits(x: TwitterServer, either: Run) -> None:
    _posted(x, 1)
    running = either(twitter_poll_interval_ms="600000", timeout=10.0).start()
    running.poll_until(1)
    running.begin_poll()
    running.stop()


@pytest.mark.promise("P11")
def test_a_stop_does_not_wait_for_an_answer(x: TwitterServer, either: Run) -> None:
    for endpoint in ("search", "timeline", "users"):
        x.fail(endpoint, Fault(wait_s=20))
    running = either(timeout=10.0).start()
    running.begin_poll()
    running.stop()


@pytest.mark.promise("P7")
def test_pages_of_one_user_at_a_time_are_held(x: TwitterServer, run: Run, poll_until: Until) -> None:
    names = ["alice", "bob", "carol"]
    for number in range(450):
        x.post(f"post {number}", by=names[number % 3])
    with run(twitter_mode="timelines", twitter_users=",".join(names)) as running:
        readings = running.task._source  # type: ignore[attr-defined]
        while len(running.records) < 450:
            running.poll()
            assert sum(reading.backlog.holds for reading in readings._readings or ()) <= 1
    assert len({record.key for record in running.records}) == 450


def test_a_reading_that_is_left_for_a_week_goes_on_at_its_newest(x: TwitterServer, run: Run, texts: Texts) -> None:
    now = time.time()
    x.post("given long ago #kafka", when=now - 8 * DAY_S)
    newest = x.post("the newest of then #kafka", when=now - 7.5 * DAY_S)
    x.post("since then #kafka")
    offset = {"since_id": "1", "until_id": str(first_at(now - 8 * DAY_S)), "newest_id": str(newest)}
    with run(twitter_mode="search", offsets=[(SEARCH, offset)]) as running:
        running.poll_until(1)
        assert texts(running) == ["since then #kafka"]
