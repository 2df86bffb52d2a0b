"""The Twitter source passes the suite that every plug-in should pass, in each of its modes."""

import time
from collections.abc import Iterator, Mapping
from typing import ClassVar

import pytest

from connect.testing import SourceRun
from connect.testing.conformance import SourceConformance
from connectors.twitter import TwitterSourceConnector
from connectors.twitter.keys import OAUTH
from tests.servers.twitter import TOKEN, TwitterServer, first_at


class TwitterConformance(SourceConformance):
    """What the modes have in common."""

    connector = TwitterSourceConnector
    names_as_elsewhere: ClassVar[frozenset[str]] = frozenset({*OAUTH, "filter.userIds"})
    stop_within: ClassVar[float] = 15.0
    #: Up to a thousand posts make a batch.
    plenty: ClassVar[int] = 1200
    mode: ClassVar[str]

    @pytest.fixture(autouse=True)
    def _x(self) -> Iterator[None]:
        self.x = TwitterServer()
        self.x.user("alice")
        self.there: set[int] = set()
        yield
        self.x.close()

    def config(self) -> dict[str, str]:
        return {
            "topic": "posts",
            "twitter.mode": self.mode,
            "twitter.base.url": self.x.url,
            "twitter.bearer.token": TOKEN,
            "twitter.rules": "#thing",
            "twitter.users": "alice",
            "twitter.poll.interval.ms": "20",
            "twitter.retry.attempts": "3",
            "twitter.backoff.network.ms": "10",
            "twitter.backoff.http.ms": "10",
            "twitter.backoff.rate.limit.ms": "10",
            "transforms": "text",
            "transforms.text.type": "org.apache.kafka.connect.transforms.ExtractField$Value",
            "transforms.text.field": "text",
        }

    def value(self, number: int) -> str:
        return f"#thing {number}"

    def produce(self, first: int, count: int) -> None:
        for number in range(first, first + count):
            if number not in self.there:
                self.there.add(number)
                self.x.post(self.value(number), by="alice")


class TestSearch(TwitterConformance):
    mode = "search"


class TestTimelines(TwitterConformance):
    mode = "timelines"


class TestNewestFirst(TwitterConformance):
    """What does not fit into memory comes in another order, and yet each once."""

    mode = "search"

    def config(self) -> dict[str, str]:
        return {**super().config(), "twitter.sort.max.bytes": "0"}

    def _are(self, records: object, numbers: object) -> None:
        assert sorted(r.value for r in records) == sorted(map(self.value, numbers))  # type: ignore[attr-defined,call-overload]


class TestStream(TwitterConformance):
    """What is there before the source is a gap behind a post that was given."""

    mode = "stream"

    def config(self) -> dict[str, str]:
        return {**super().config(), "twitter.backfill.settle.ms": "10", "twitter.backfill.overlap.ms": "0"}

    def _run(self, config: Mapping[str, str] | None = None) -> SourceRun:
        before = [({"mode": "stream"}, {"since_id": str(first_at(time.time() - 60))})]
        chosen = self.config() if config is None else config
        return SourceRun(self.connector, chosen, offsets=before, timeout=self.stop_within)
