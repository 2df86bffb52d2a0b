"""`python -m bench.elasticsearch`: a topic into Elasticsearch beside the client's own `parallel_bulk` from a file.

500,000 documents of about 100 bytes go into an index with one shard, no replica and a mapping, recreated for each run,
with the same ids, 2,000 documents or 5 MiB a request and as many threads. The other side is one Python program that
reads lines, parses them by orjson and has the client write them by orjson: the quickest that it can. Documents are
counted by the index. Rate, CPU and memory are those of each side's whole process tree, without server and broker, from
the first document on.
"""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import one
from bench.document import Rows
from bench.jdbc import row
from bench.machine import say, versions
from bench.part import Settings
from bench.standalone import MeasurementFailed, Memory, program, watch, worker
from bench.tables import CPU, MEMORY, START, Figure, compare
from bench.topics import produce
from connect.jvm.jars import read_set
from connect.kafka.broker import embedded as broker

if TYPE_CHECKING:
    from tests.servers.elasticsearch import ElasticsearchServer

THREADS = 5  # requests at a time
_REQUEST = 2000
_BYTES = 5 * 1024 * 1024
_LOOK_S = 0.02
_TYPES = {"id": "long", "name": "keyword", "city": "keyword", "amount": "double", "active": "boolean", "note": "text"}
_INDEX = {
    "settings": {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "30s"},
    "mappings": {"properties": {name: {"type": kind} for name, kind in _TYPES.items()}},
}
_WORKER = {
    "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "connector.client.config.override.policy": "All",
}
#: The other side: its file, its cluster, its index, its threads.
_BULK = f"""
import sys
from collections import deque
import orjson
from elastic_transport import OrjsonSerializer, Urllib3HttpNode
from elasticsearch import Elasticsearch
from elasticsearch.helpers import parallel_bulk

file, url, index, threads = sys.argv[1:]

def actions():
    with open(file, "rb") as lines:
        for number, line in enumerate(lines):
            yield {{"_index": index, "_id": f"rows+0+{{number}}", "_source": orjson.loads(line)}}

class Node(Urllib3HttpNode):
    # A client of version 9 asks for its own version, which a server of version 8 refuses.
    def perform_request(self, method, target, body=None, headers=None, **more):
        for name in headers:
            headers[name] = headers[name].replace("compatible-with=9", "compatible-with=8")
        return super().perform_request(method, target, body, headers, **more)

client = Elasticsearch(
    url, node_class=Node, serializer=OrjsonSerializer(), request_timeout=60, connections_per_node=int(threads)
)
done = parallel_bulk(client, actions(), int(threads), {_REQUEST}, {_BYTES}, queue_size=int(threads))
deque(done, maxlen=0)
"""


def _documents(file: Path, count: int) -> Iterator[bytes]:
    """So many documents, which are written into a file as well."""
    with file.open("wb") as lines:
        for number in range(count):
            document = json.dumps(row(number), ensure_ascii=False).encode()
            lines.write(document + b"\n")
            yield document


def run(
    side: str, bootstrap: str, server: "ElasticsearchServer", file: Path, folder: Path, count: int
) -> dict[str, float]:
    """One run into an index of its own."""
    index = f"{folder.name}".lower()
    server.request("PUT", f"/{index}", _INDEX)
    config = {
        "name": folder.name,
        "connector.class": "ElasticsearchSink",
        "topics": "rows",
        "tasks.max": "1",
        "connection.url": server.url,
        "external.resource.usage": "INDEX",
        "topic.to.external.resource.mapping": f"rows:{index}",
        "key.ignore": "true",
        "schema.ignore": "true",
        "batch.size": str(_REQUEST),
        "bulk.size.bytes": str(_BYTES),
        "max.in.flight.requests": str(THREADS),
        "read.timeout.ms": "60000",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "consumer.override.auto.offset.reset": "earliest",
    }
    started: AbstractContextManager[int]
    if side == "client":
        started = program(folder, [sys.executable, "-c", _BULK, file, server.url, index, str(THREADS)])
    else:
        started = worker("ours", bootstrap, folder, config, _WORKER)
    try:
        with started as pid, Memory(pid) as memory:
            found = watch(lambda: _count(server, index), count, pid, time.monotonic(), folder / "log", _LOOK_S)
        if missing := count - server.count(index):
            raise MeasurementFailed(f"{missing} documents are missing.")
        return {**found, "pss_mb": memory.most}
    finally:
        server.drop(index)


def _count(server: "ElasticsearchServer", index: str) -> int:
    """How many documents were indexed, whether or not a search finds them already."""
    stats = server.request("GET", f"/{index}/_stats/indexing?filter_path=_all.primaries.indexing.index_total")
    return int(stats["_all"]["primaries"]["indexing"]["index_total"])


def measure(settings: Settings) -> dict[str, Any]:
    """Both sides in turn; the first run of each warms the server up and counts for nothing."""
    from tests.servers.elasticsearch import ElasticsearchServer

    count, rounds = settings.count(500_000, 30_000), settings.repeat()
    rows = Rows({"ours": ["client"]})
    server = ElasticsearchServer(jvm="-Xms1g -Xmx1g")
    try:
        bootstrap = broker.ensure_running(settings.folder / "broker", port=0).bootstrap_servers
        try:
            say(f"filling a topic and a file with {count:,} documents")
            file = settings.folder / "rows"
            produce(bootstrap, "rows", _documents(file, count), settings={"queue.buffering.max.messages": 1_000_000})
            for number in range(-1, rounds):
                for side in ("client", "ours") if number % 2 else ("ours", "client"):
                    found = run(side, bootstrap, server, file, settings.folder / f"{side}{number + 1}", count)
                    say(
                        f"{side:7} {found['rate']:>8,.0f} documents/s  {found['cpu_us']:5.2f} us of CPU a document  "
                        f"{found['pss_mb']:4.0f} MB  first after {found['start_s']:.1f} s"
                        f"{'' if number >= 0 else '  (to warm up)'}"
                    )
                    if number >= 0:
                        rows.add("index", side, found, number)
        finally:
            broker.stop(settings.folder / "broker")
    finally:
        server.close()
    return {
        "settings": {"rounds": rounds, "documents": count},
        "versions": {
            "Elasticsearch": read_set("elasticsearch")[0].version,
            **{f"{name} (Python)": found for name, found in versions("elasticsearch", "orjson").items()},
            **versions("connect-runtime", "confluent-kafka"),
        },
        "rows": rows.as_json(),
    }


def table(document: dict[str, Any]) -> str:
    """The document as Markdown."""
    figures = (
        Figure("rate", "documents/s"),
        Figure("cpu_us", "CPU a document, µs", CPU.form),
        MEMORY,
        Figure("start_s", "first document after, s", START.form),
    )
    return compare(document, {"index": "index"}, figures, ("client", "parallel_bulk"))


if __name__ == "__main__":
    sys.exit(one.main("bench.elasticsearch", "elasticsearch"))
