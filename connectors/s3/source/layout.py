"""What an object's name says: the topic, the partition, and which names ascend together."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from connect.settings.java_regex import java_regex
from connectors.s3.source.keys import BY_NAME, BY_PARTITION, BY_TIME, MOVE, RESTORE_BACKUP, S3SourceOptions
from connectors.s3.source.template import PARTITION, START, TOPIC, Template

#: Characters of topic names and numbers: a series that ends with one may contain names of another series.
_OF_NAMES: Final = re.compile(r"[a-zA-Z0-9_.-]")
_TOPIC: Final = re.compile(r"[a-zA-Z0-9_.-]+")
#: Objects of keys and headers that a sink wrote next to those of values.
_BESIDE: Final = re.compile(r"\.(keys|headers)\.")
_BY_TIME: Final = ("timebasedpartitioner", "dailypartitioner", "hourlypartitioner", "time", "daily", "hourly")


class Place(NamedTuple):
    """What a name says.

    Attributes:
        topic: of its records.
        partition: of the topic; None if the name has none.
        series: the prefix of the names that ascend together with this one; empty for all.
    """

    topic: str
    partition: int | None = None
    series: str = ""


class Layout:
    """Reads names.

    Args:
        options: the connector's keys, checked.

    Attributes:
        prefix: of the names to list; `prefix_keys` names the keys that it comes from.
        order: `name`, `partition` or `time`.
        closed: with the order `partition`, whether all names that begin as a series belong to it.
    """

    def __init__(self, options: S3SourceOptions) -> None:
        self._topic = options.topic
        self._by_regex = [_topic_regex(each) for each in options.topic_regex_list]
        self._moved = options.done_prefix if options.action == MOVE and options.stays_in_bucket else ""
        self._restores = options.mode == RESTORE_BACKUP
        self.prefix, self.prefix_keys = options.prefix, "aws.s3.prefix"
        self._names: re.Pattern[str] | None = None
        self._folder = options.directory_delim
        self._form = "do not have the form of file.name.template"
        before_offset, by_time = "", False
        if self._restores:
            folder, delim = options.directory_delim, options.file_delim
            if options.topics_dir:
                self.prefix += options.topics_dir + folder
                self.prefix_keys += " and, with mode=RESTORE_BACKUP, topics.dir"
            regex = re.escape(delim).join([TOPIC, PARTITION, START])
            self._names = java_regex(rf"(?s)(?:.*{re.escape(folder)})?{regex}(?:\..*)?")
            self._form = f"do not end with TOPIC{delim}PARTITION{delim}OFFSET (mode=RESTORE_BACKUP, file.delim)"
            before_offset = delim[-1]
            by_time = options.partitioner_class.rpartition(".")[2].lower() in _BY_TIME
        elif options.template:
            template = Template(options.template)
            self._names = template.names
            before_offset = template.before_offset
            by_time = "timestamp" in template.variables
        self.order = options.order
        if not self.order:
            groups = self._names.groupindex.keys() if self._names else set()
            self.order = BY_PARTITION if {"partition", "start"} <= groups and not by_time else BY_NAME
        self.closed = bool(before_offset) and not _OF_NAMES.match(before_offset)

    def place(self, key: str) -> Place | None:
        """What a name says; None for objects to skip."""
        if key.endswith("/") or (self._moved and key.startswith(self._moved)):
            return None
        if self._names is None:
            topic = self._by_key(key)
            return None if topic is None else Place(topic)
        match = self._names.fullmatch(key, len(self.prefix))
        if match is None or (self._restores and _BESIDE.search(key, match.end("start"))):
            return None
        found = match.groupdict()
        topic = (self._restored(key, match) if self._restores else found.get("topic")) or self._by_key(key)
        if topic is None:
            return None
        partition = found.get("partition")
        series = key[: match.start("start")] if self.order == BY_PARTITION else ""
        return Place(topic, None if partition is None else int(partition), series)

    def skipped(self, key: str) -> str:
        """Why there is no place for an object: what is so of it, and of others."""
        if key.endswith("/"):
            return "end with a slash, as folders do"
        if self._moved and key.startswith(self._moved):
            return "stand below done.prefix"
        if self._names is None:
            return "match no regex of topic.regex.list"
        match = self._names.fullmatch(key, len(self.prefix))
        if match is None:
            return self._form
        return "hold keys or headers beside an object" if self._restores else "match no regex of topic.regex.list"

    def mark(self, key: str, modified: int) -> tuple[int, str]:
        """An object's position in the order; `modified` in milliseconds since 1970."""
        return (modified if self.order == BY_TIME else 0, key)

    def _restored(self, key: str, match: re.Match[str]) -> str:
        """The topic of a sink's name, which begins and ends with it: topics may have the separator in their names."""
        found = match["topic"]
        if not _OF_NAMES.match(self._folder):
            return found
        whole, delim = key[len(self.prefix) : match.end("topic")], self._folder
        end = whole.find(delim)
        while 0 <= end <= (len(whole) - len(delim)) // 2:
            if whole.endswith(delim + whole[:end]) and _TOPIC.fullmatch(whole, 0, end):
                found = whole[:end]  # of several the longest
            end = whole.find(delim, end + 1)
        return found

    def _by_key(self, key: str) -> str | None:
        for topic, regex in self._by_regex:
            if regex.fullmatch(key):
                return topic
        return self._topic or None


def _topic_regex(written: str) -> tuple[str, re.Pattern[str]]:
    topic, _, regex = written.partition(":")
    return topic.strip(), java_regex(regex.strip())
