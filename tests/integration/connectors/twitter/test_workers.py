"""Real workers on a real broker, killed at any moment: no post is lost, and with exactly-once none comes twice."""

import json
import random
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from connect.kafka.broker.embedded import Broker
from tests.integration.distributed.committed import Committed
from tests.integration.distributed.pool import Pool, a_pool
from tests.servers.twitter import TOKEN, TwitterServer


@pytest.fixture
def pool(broker: Broker, tmp_path: Path) -> Iterator[Pool]:
    with a_pool(broker.bootstrap_servers, tmp_path) as made:
        yield made


def _config(x: TwitterServer, topic: str, mode: str, **more: str) -> dict[str, str]:
    return {
        "connector.class": "com.github.jcustenborder.kafka.connect.twitter.TwitterSourceConnector",
        "kafka.status.topic": topic,
        "twitter.base.url": x.url,
        "twitter.bearer.token": TOKEN,
        "twitter.mode": mode,
        "filter.keywords": "#kafka",
        "twitter.users": "alice",
        "twitter.poll.interval.ms": "50",
        "twitter.backfill.settle.ms": "100",
        "twitter.backoff.network.ms": "50",
        "twitter.backoff.rate.limit.ms": "100",
        "twitter.backoff.http.ms": "50",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        **{key.replace("_", "."): value for key, value in more.items()},
    }


def _texts(seen: Committed) -> list[str]:
    return [json.loads(value)["text"] for value in list(seen.values)]


@pytest.mark.quick
def test_posts_reach_a_topic(pool: Pool, x: TwitterServer, new_topic: Callable[..., str]) -> None:
    (worker,) = pool.start()
    topic = new_topic()
    wrong = {**_config(x, topic, "stream"), "twitter.rule.odd": '"not closed', "topic": topic}
    checked = worker.do("PUT", "/connector-plugins/TwitterSourceConnector/config/validate", {"name": "posts", **wrong})
    told = {each["value"]["name"]: each["value"]["errors"] for each in checked["configs"] if each["value"]["errors"]}
    assert set(told) == {"twitter.rule.odd"}
    with closing(Committed(pool.bootstrap, topic)) as seen:
        worker.create("posts", _config(x, topic, "stream"))
        pool.until(lambda: x.listeners, "the stream is connected")
        x.post("hello #kafka", by="bob")
        pool.until(lambda: _texts(seen) == ["hello #kafka"], "the post is there")
        (value,) = seen.values
        assert json.loads(value)["author"]["username"] == "bob"
        pool.until(lambda: worker.get("/connectors/posts/offsets")["offsets"], "its offset is stored")
        assert TOKEN not in worker.log
        assert TOKEN not in json.dumps(worker.get("/connectors/posts"))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.promise("P1", "P10")
@pytest.mark.parametrize(
    ("mode", "exactly_once"), [("stream", False), ("search", False), ("search", True), ("timelines", True)]
)
def test_killed_at_any_moment(
    pool: Pool, x: TwitterServer, new_topic: Callable[..., str], seed: int, mode: str, exactly_once: bool
) -> None:
    chance = random.Random(seed)
    settings = {"exactly_once_source_support": "enabled"} if exactly_once else {}
    (worker,) = pool.start(1, restart_policy="on", **settings)
    topic = new_topic()
    more = {"exactly_once_support": "required"} if exactly_once else {}
    # Some of it is turned round, and some comes the newest first.
    config = _config(x, topic, mode, queue_batch_size="40", twitter_sort_max_bytes="100000", **more)
    posted: list[str] = []

    def post(count: int) -> None:
        for _ in range(count):
            posted.append(f"{len(posted)} #kafka")
            x.post(posted[-1], by="alice")

    with closing(Committed(pool.bootstrap, topic)) as seen:
        worker.create("posts", config)
        if mode == "stream":
            pool.until(lambda: x.listeners, "the stream is connected")
            post(1)
            pool.until(lambda: worker.get("/connectors/posts/offsets")["offsets"], "there is an offset to go on from")
        for _ in pool.deaths(worker):
            wanted = len(seen.values) + chance.randint(0, 300)
            post(600)
            pool.until(lambda wanted=wanted: len(seen.values) > wanted, "posts come")  # type: ignore[misc]
        pool.until(lambda: set(_texts(seen)) == set(posted), "every post is there")
        if exactly_once:
            assert sorted(_texts(seen)) == sorted(posted), "a post came twice"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_bad_token_fails_the_task_with_what_to_do(
    pool: Pool, x: TwitterServer, new_topic: Callable[..., str]
) -> None:
    (worker,) = pool.start()
    wrong = "AAAAAAAA-a-wrong-token"
    worker.create("posts", {**_config(x, new_topic(), "stream"), "twitter.bearer.token": wrong})

    def trace() -> str:
        status = worker.get("/connectors/posts/status") or {}
        return "".join(str(task.get("trace", "")) for task in status.get("tasks", []))

    pool.until(lambda: "X does not accept our credentials" in trace(), "the task fails")
    assert "twitter.bearer.token" in trace()
    assert wrong not in trace() + worker.log


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.promise("P9")
def test_an_x_that_is_away_is_waited_for(pool: Pool, x: TwitterServer, new_topic: Callable[..., str]) -> None:
    (worker,) = pool.start()
    topic = new_topic()
    port = x.port
    x.close()
    with closing(Committed(pool.bootstrap, topic)) as seen:
        worker.create("posts", _config(x, topic, "search", task_stalled_after_ms="1000"))
        pool.until(lambda: "cannot be reached" in worker.log, "it says so")
        pool.until(lambda: "stalled" in worker.get("/connectors/posts/tasks/0/status"), "it is said to stand still")
        (task,) = worker.get("/connectors/posts/status")["tasks"]
        assert "cannot be reached" in task["stalled"]["trace"]
        again = TwitterServer(port)
        try:
            again.post("back #kafka")
            pool.until(lambda: _texts(seen) == ["back #kafka"], "it goes on")
            pool.until(lambda: worker.runs("posts", 1), "it runs")
        finally:
            again.close()
