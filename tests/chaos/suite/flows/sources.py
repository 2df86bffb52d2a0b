"""The sources: a file, a table, a database's log, objects, documents, a REST API, made-up data, a topic, numbers."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from tests.chaos.suite.checks import Place
from tests.chaos.suite.feed import number_of
from tests.chaos.suite.targets import at

from .flow import SourceFlow
from .sinks import Marks

PLAIN = {"value.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable": "false"}


def only(offsets: Any) -> dict[str, Any]:
    """The offset of a connector with one source partition; empty while there is none."""
    found = [each["offset"] for each in (offsets or {}).get("offsets", []) if each.get("offset")]
    return dict(found[0]) if found else {}


class FileSource(SourceFlow):
    """Lines of one length, so that a position says how many."""

    name = "file-source"

    def set_up(self) -> None:
        self.path = self.around.folder / "file-source.txt"
        self.path.touch()

    def config(self) -> dict[str, str]:
        return {"connector.class": "FileStreamSource", "file": str(self.path), "topic": self.topic}

    def give(self, numbers: range) -> None:
        with self.path.open("ab", buffering=0) as file:
            file.truncate(numbers[0] * 10)
            file.write(b"".join(b"%09d\n" % number for number in numbers))

    def number(self, value: bytes) -> int:
        return int(value)

    def before(self, offsets: Any) -> int | None:
        position = only(offsets).get("position")
        return None if position is None else int(position) // 10


class Rows(SourceFlow):
    """A table of PostgreSQL, which both its readers have of their own."""

    def set_up(self) -> None:
        self.server = self.around.targets.postgres()
        self.table = self.name.replace("-", "_")
        self.server.execute(f"CREATE TABLE {self.table} (id bigint PRIMARY KEY, word text)")
        self.server.execute(f"ALTER TABLE {self.table} REPLICA IDENTITY FULL")

    def give(self, numbers: range) -> None:
        self.server.execute(
            f"INSERT INTO {self.table} SELECT i, 'word ' || i FROM generate_series(%s::bigint, %s::bigint) i "
            "ON CONFLICT DO NOTHING",
            [numbers[0], numbers[-1]],
        )


class JdbcSource(Rows):
    name = "jdbc-source"

    @property
    def topic(self) -> str:
        return f"from-{self.name.replace('-', '_')}"

    def config(self) -> dict[str, str]:
        host, port = at(self.around.targets.all["postgresql"])
        return {
            **PLAIN,
            "connector.class": "JdbcSource",
            "connection.url": f"jdbc:postgresql://{host}:{port}/{self.server.name}",
            "connection.user": self.server.user,
            "connection.password": self.server.password,
            "table.whitelist": self.table,
            "mode": "incrementing",
            "incrementing.column.name": "id",
            "incrementing.initial": "-1",
            "topic.prefix": "from-",
            "poll.interval.ms": "500",
            "connection.backoff.ms": "1000",
        }

    def number(self, value: bytes) -> int:
        return int(json.loads(value)["id"])

    def before(self, offsets: Any) -> int | None:
        last = only(offsets).get("incrementing")
        return None if last is None else int(last) + 1


class Capture(Rows):
    name = "capture"

    @property
    def topic(self) -> str:
        return "from.public.capture"

    def config(self) -> dict[str, str]:
        host, port = at(self.around.targets.all["postgresql"])
        return {
            **PLAIN,
            "connector.class": "PostgresCdcSource",
            "database.hostname": host,
            "database.port": port,
            "database.user": self.server.user,
            "database.password": self.server.password,
            "database.dbname": self.server.name,
            "table.include.list": f"public.{self.table}",
            "publication.autocreate.mode": "filtered",
            "topic.prefix": "from",
            "slot.name": "chaos",
            "poll.interval.ms": "200",
        }

    def number(self, value: bytes) -> int:
        return int(json.loads(value)["after"]["id"])


class S3Source(SourceFlow):
    """Objects of some lines each.

    Within an object lines have their order. Of two objects that are put while the bucket is being listed, the listing
    may show the second one alone: the first is read after it.
    """

    name = "s3-source"

    def set_up(self) -> None:
        self.bucket = self.around.targets.bucket()

    def config(self) -> dict[str, str]:
        return {
            **PLAIN,
            **self.bucket.config,
            "connector.class": "S3Source",
            "store.url": f"http://{self.around.targets.all['s3'].address}",
            "input.format": "jsonl",
            "object.order": "name",
            "s3.poll.interval.ms": "500",
            "topic": self.topic,
        }

    def give(self, numbers: range) -> None:
        lines = b"".join(json.dumps({"n": number}).encode() + b"\n" for number in numbers)
        self.bucket.put(f"{numbers[0]:09d}.jsonl", lines)

    def places(self) -> Mapping[int, Place]:
        return {number: divmod(number, self.piece) for number in self.written()}

    def number(self, value: bytes) -> int:
        return int(json.loads(value)["n"])


class ElasticsearchSource(SourceFlow):
    """Documents of one shard."""

    name = "elasticsearch-source"
    index = "chaos-documents"

    def set_up(self) -> None:
        self.server = self.around.targets.elasticsearch()
        self.server.request("PUT", f"/{self.index}", {"settings": {"number_of_shards": 1, "number_of_replicas": 0}})

    def config(self) -> dict[str, str]:
        return {
            **PLAIN,
            "connector.class": "ElasticsearchSource",
            "connection.url": f"http://{self.around.targets.all['elasticsearch'].address}",
            "index.names": self.index,
            "topic.name": self.topic,
            "poll.interval.ms": "500",
            "retry.backoff.ms": "500",
        }

    def give(self, numbers: range) -> None:
        """Each is created once: a document that is written again would be read again."""
        lines = b"".join(
            json.dumps({"create": {"_id": str(number)}}).encode() + b"\n" + json.dumps({"n": number}).encode() + b"\n"
            for number in numbers
        )
        self.server.request("POST", f"/{self.index}/_bulk", lines)

    def number(self, value: bytes) -> int:
        return int(json.loads(value)["n"])


class HttpSource(SourceFlow):
    """Records behind the last one that was seen, page after page."""

    name = "http-source"

    def set_up(self) -> None:
        self.api = self.around.targets.api("http-api")
        self.api.field = "n"
        self.api.size = 100

    def config(self) -> dict[str, str]:
        return {
            **PLAIN,
            "connector.class": "HttpSource",
            "http.url": f"http://{self.around.targets.all['http-api'].address}/cursor",
            "http.records.path": "data.items",
            "http.pagination": "cursor",
            "http.pagination.field": "meta.cursor",
            "http.pagination.parameter": "cursor",
            "http.offset.field": "n",
            "http.offset.parameter": "since",
            "http.timeout": "5",
            "poll.interval.ms": "500",
            "retry.backoff.ms": "500",
            "max.retries": "-1",
            "topic": self.topic,
        }

    def give(self, numbers: range) -> None:
        self.api.items = self.api.items[: numbers[0]] + [{"n": number} for number in numbers]

    def number(self, value: bytes) -> int:
        return int(json.loads(value)["n"])


class MadeByItself(SourceFlow):
    """A source that needs no system: what it wrote is known by what it wrote, without a gap."""

    def give(self, numbers: range) -> None:
        pass

    def start(self) -> None:
        pass

    def written(self) -> Collection[int]:
        return range(max(self.arrived(), default=-1) + 1)

    def count(self) -> int:
        return len(self.around.reader.records[self.topic])


class Datagen(MadeByItself):
    name = "datagen"

    def config(self) -> dict[str, str]:
        counting = {"type": "long", "arg.properties": {"iteration": {"start": 0}}}
        schema = {"type": "record", "name": "made", "fields": [{"name": "n", "type": counting}]}
        return {
            **PLAIN,
            "connector.class": "Datagen",
            "kafka.topic": self.topic,
            "schema.string": json.dumps(schema),
            "rate": "30",
        }

    def number(self, value: bytes) -> int:
        return int(json.loads(value)["n"])

    def before(self, offsets: Any) -> int | None:
        following = only(offsets).get("current.iteration")
        return None if following is None else int(following)


class NumbersSource(MadeByItself):
    """Notes down the beginning and the end of each record."""

    name = "numbers"

    def set_up(self) -> None:
        self._marks = Marks(self.around.folder / f"writes-{self.name}-0")

    def config(self) -> dict[str, str]:
        folder = str(self.around.folder)
        return {"connector.class": "unruly.UnrulySource", "folder": folder, "topic": self.topic, "every.ms": "50"}

    def marks(self) -> dict[int, list[dict[str, Any]]]:
        """What its task noted."""
        return {0: self._marks.read()}

    def number(self, value: bytes) -> int:
        return int(value)

    def before(self, offsets: Any) -> int | None:
        following = only(offsets).get("next")
        return None if following is None else int(following)


class Mirror(SourceFlow):
    """Copies what all sinks read, within the one cluster."""

    name = "mirror"

    def prepare(self) -> None:
        self.once = self.around.exactly_once
        self.around.reader.follow(self.topic, self.around.feed.partitions)
        self.given = 0

    @property
    def topic(self) -> str:
        return f"here.{self.around.feed.topic}"

    def config(self) -> dict[str, str]:
        raw = "org.apache.kafka.connect.converters.ByteArrayConverter"
        return {
            "connector.class": "MirrorSource",
            "key.converter": raw,
            "value.converter": raw,
            "header.converter": raw,
            "source.cluster.alias": "here",
            "target.cluster.alias": "there",
            "source.cluster.bootstrap.servers": self.around.bootstrap,
            "target.cluster.bootstrap.servers": self.around.bootstrap,
            "topics": self.around.feed.topic,
            "replication.factor": "3",
            "offset-syncs.topic.replication.factor": "3",
            "refresh.topics.interval.seconds": "5",
            "sync.topic.configs.enabled": "false",
            "sync.topic.acls.enabled": "false",
            "consumer.isolation.level": "read_committed",
        }

    def give(self, numbers: range) -> None:
        pass

    def start(self) -> None:
        pass

    def finish(self) -> None:
        pass

    def written(self) -> Collection[int]:
        return list(self.around.feed.places)

    def number(self, value: bytes) -> int:
        return number_of(value)

    def count(self) -> int:
        return len(self.around.reader.records[self.topic])

    def places(self) -> Mapping[int, Place]:
        return self.around.feed.places

    @property
    def troubles(self) -> list[str]:
        return []
