"""Topics that change under their reader: records deleted before it comes, compacted, the topic itself recreated.

Both are read by sinks that note their writes, and written by a feed of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from tests.chaos.suite.checks import Place
from tests.chaos.suite.feed import Feed, key_of
from tests.chaos.suite.reader import new_topic

from .flow import SinkFlow
from .sinks import Marks


def plain_record(number: int) -> tuple[str, bytes]:
    """A record of these topics."""
    return key_of(number), b'{"payload": {"n": %d}}' % number


class OwnTopic(SinkFlow):
    """A sink with a topic of its own, of one partition."""

    letters = False
    settings: ClassVar[dict[str, str]] = {}

    def set_up(self) -> None:
        self.around.topics.create(new_topic(self.name, 1, **self.settings))
        self._feed = Feed(self.around.bootstrap, self.name, 1, 10, plain_record)
        self._marks = Marks(self.around.folder / f"writes-{self.name}-0")

    @property
    def feed(self) -> Feed:
        return self._feed

    def config(self) -> dict[str, str]:
        folder = str(self.around.folder)
        return {**self.sink_config(), "connector.class": "unruly.UnrulySink", "folder": folder}

    def marks(self) -> dict[int, list[dict[str, Any]]]:
        """What its task noted."""
        return {0: self._marks.read()}

    def arrived(self) -> list[int]:
        return [number for mark in self._marks.read() if mark["what"] == "ended" for number in mark["values"]]

    def start(self) -> None:
        self.feed.start()

    def finish(self) -> None:
        self.feed.finish()


class ShortLived(OwnTopic):
    """Its records are deleted, and it itself is, and recreated: then offsets begin anew, and numbers go on."""

    name = "short-lived"

    def set_up(self) -> None:
        super().set_up()
        self._earlier: set[int] = set()

    def written(self) -> Collection[int]:
        return self._earlier | set(self.feed.places)

    def begin_anew(self) -> None:
        """The topic is another one from now on. Nothing may be under way."""
        self._earlier |= set(self.feed.places)
        self.feed.forget()


class Compacted(OwnTopic):
    """Of each key the last record has to arrive; one before it may."""

    name = "compacted"
    settings: ClassVar[dict[str, str]] = {
        "cleanup_policy": "compact",
        "segment_ms": "5000",
        "min_cleanable_dirty_ratio": "0.01",
        "max_compaction_lag_ms": "5000",
        "delete_retention_ms": "1000",
    }

    def written(self) -> Collection[int]:
        return sorted(self.feed.places)[-20:]

    def places(self) -> Mapping[int, Place]:
        """Those that arrived, and the last ones."""
        places = self.feed.places
        kept = set(self.arrived()) | set(self.written())
        return {number: place for number, place in places.items() if number in kept}

    def progress(self) -> tuple[int, int]:
        return max(self.feed.places, default=-1) + 1, max(self.arrived(), default=-1) + 1
