"""Whatever happens in whatever order: no post is lost, and where positions are exact none comes twice."""

import random
from collections.abc import Callable

import pytest

from connect.testing import SourceRun
from tests.servers.twitter import Fault, TwitterServer

Run = Callable[..., SourceRun]
Until = Callable[..., None]
Texts = Callable[[SourceRun], list[str]]

FULL = {"title": "ConnectionException", "connection_issue": "TooManyConnections"}
FAULTS = [
    Fault(503, "busy"),
    Fault(500, "{"),
    Fault(429, {"title": "Too Many Requests"}),
    Fault(429, FULL),
    Fault(200, ""),
]


@pytest.mark.slow
@pytest.mark.promise("P1", "P10")
@pytest.mark.parametrize("mode", ["stream", "search", "timelines"])
@pytest.mark.parametrize("held", ["0", "30000", "4000000"])
@pytest.mark.parametrize("crashes", [False, True])
def test_nothing_is_lost_whatever_happens(
    x: TwitterServer, run: Run, poll_until: Until, texts: Texts, seed: int, mode: str, held: str, crashes: bool
) -> None:
    chance = random.Random(seed)
    posted: list[str] = []

    def post(count: int) -> None:
        for _ in range(count):
            posted.append(f"{len(posted)} #kafka")
            x.post(posted[-1], by="alice")

    with run(
        twitter_mode=mode,
        twitter_users="alice",
        twitter_sort_max_bytes=held,
        queue_batch_size="30",
        twitter_backfill_settle_ms="20",
        twitter_stream_keepalive_timeout_ms="2000",
        timeout=60.0,
    ) as running:
        if mode == "stream":
            poll_until(running, lambda: x.listeners)
        post(1)
        running.poll_until(1)
        for _ in range(40):
            happens = ["post", "post", "many", "poll", "disconnect", "fault", "restart", "rules"]
            match chance.choice([*happens, "crash"] if crashes else happens):
                case "post":
                    post(chance.randint(1, 5))
                case "many":
                    post(chance.randint(50, 250))
                case "poll":
                    for _ in range(chance.randint(1, 4)):
                        running.poll()
                case "disconnect":
                    x.disconnect(chance.choice(["clean", "abrupt"]), notice=chance.random() < 0.5)
                case "fault":
                    x.fail(chance.choice(["stream", "rules", "search", "timeline"]), chance.choice(FAULTS))
                case "restart":
                    running.restart()
                case "crash":
                    running.hold()
                    for _ in range(chance.randint(0, 3)):
                        running.poll()
                    running.acknowledge(chance.randint(0, 40))
                    running.crash()
                    running.acknowledge()
                    running.restart()
                case "rules":
                    x.rules.clear()
        poll_until(running, lambda: set(texts(running)) >= set(posted), f"every post comes (seed {seed})")
        running.poll_all()
    assert set(texts(running)) == set(posted)
    if mode != "stream" and not crashes:
        assert sorted(texts(running)) == sorted(posted), "a post came twice"
