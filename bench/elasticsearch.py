"""`python -m bench.elasticsearch`: a topic into Elasticsearch beside the client's own `parallel_bulk` from a file.

500,000 documents of about 100 bytes go into an index with one shard, no replica and a mapping, made anew for each run,
with the same ids, 2,000 documents or 5 MiB a request and as many threads. The other side is one Python program that
reads lines, parses them by orjson and has the client write them by orjson: the quickest that it can. Documents are
counted by the index. Rate, CPU and memory are those of each side's whole process tree, without server and broker, from
the first document on.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import tree
from bench.jdbc import Memory, Run, row, worker
from bench.machine import introduce, say
from bench.workers import stop
from connect.kafka.broker import ensure_running
from connect.kafka.broker import stop as stop_broker
from tests.servers.elasticsearch import ElasticsearchServer

DOCUMENTS = 500_000
_REQUEST = 2000
_BYTES = 5 * 1024 * 1024
_LOOK_S = 0.02
_TYPES = {"id": "long", "name": "keyword", "city": "keyword", "amount": "double", "active": "boolean", "note": "text"}
_INDEX = {
    "settings": {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "30s"},
    "mappings": {"properties": {name: {"type": kind} for name, kind in _TYPES.items()}},
}
#: The other side: its file, its cluster, its index, its threads.
_BULK = f"""
import sys
from collections import deque
import orjson
from elastic_transport import OrjsonSerializer
from elasticsearch import Elasticsearch
from elasticsearch.helpers import parallel_bulk

file, url, index, threads = sys.argv[1:]

def actions():
    with open(file, "rb") as lines:
        for number, line in enumerate(lines):
            yield {{"_index": index, "_id": f"rows+0+{{number}}", "_source": orjson.loads(line)}}

client = Elasticsearch(url, serializer=OrjsonSerializer(), request_timeout=60, connections_per_node=int(threads))
done = parallel_bulk(client, actions(), int(threads), {_REQUEST}, {_BYTES}, queue_size=int(threads))
deque(done, maxlen=0)
"""


def fill(bootstrap: str, file: Path) -> None:
    """The same documents as a topic and as a file."""
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic("rows", 1, 1)])["rows"].result(30)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "queue.buffering.max.messages": 1_000_000})
    with file.open("w", encoding="utf-8") as lines:
        for number in range(DOCUMENTS):
            document = json.dumps(row(number), ensure_ascii=False)
            lines.write(document + "\n")
            producer.produce("rows", document.encode())
    producer.flush()


@contextmanager
def by_client(folder: Path, file: Path, server: ElasticsearchServer, index: str, threads: int) -> Iterator[int]:
    """The program beside it; its process id."""
    folder.mkdir()
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", _BULK, file, server.url, index, str(threads)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ},
        )
    try:
        yield process.pid
        if process.poll():
            raise RuntimeError((folder / "log").read_text(encoding="utf-8")[-3000:])
    finally:
        stop(process)


def run(
    side: str, bootstrap: str, server: ElasticsearchServer, file: Path, folder: Path, threads: int, more: dict[str, str]
) -> Run:
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
        "max.in.flight.requests": str(threads),
        "read.timeout.ms": "60000",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "consumer.override.auto.offset.reset": "earliest",
        **more,
    }
    began = time.monotonic()
    started = (
        by_client(folder, file, server, index, threads)
        if side == "client"
        else worker("ours", bootstrap, folder, config)
    )
    try:
        with started as pid, Memory(pid) as memory:
            first: tuple[float, float] | None = None
            seen = 0
            while True:
                count = _count(server, index)
                at = time.monotonic()
                if count and first is None:
                    first, seen = (at, tree.cpu(pid)), count
                if count >= DOCUMENTS:
                    break
                if at - began > 300:
                    raise TimeoutError((folder / "log").read_text(encoding="utf-8")[-3000:])
                time.sleep(_LOOK_S)
            assert first is not None
            done, used = DOCUMENTS - seen, tree.cpu(pid) - first[1]
            found = Run(first[0] - began, done / (at - first[0]), used / done * 1e6, memory.most)
        missing = DOCUMENTS - server.count(index)
        if missing:
            raise RuntimeError(f"{missing} documents are missing.")
        return found
    finally:
        server.drop(index)


def _count(server: ElasticsearchServer, index: str) -> int:
    """How many documents were indexed, whether or not a search finds them already."""
    stats = server.request("GET", f"/{index}/_stats/indexing?filter_path=_all.primaries.indexing.index_total")
    return int(stats["_all"]["primaries"]["indexing"]["index_total"])


def main() -> None:
    """Measure, and print all figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="of each (default: 3)")
    parser.add_argument("--threads", type=int, default=5, help="requests at a time (default: 5)")
    parser.add_argument("--json", type=Path, help="write all figures there")
    args = parser.parse_args()
    introduce()
    server = ElasticsearchServer(jvm="-Xms1g -Xmx1g")
    runs: dict[str, list[Run]] = {"client": [], "ours": []}
    try:
        with tempfile.TemporaryDirectory(prefix="connect-bench-") as name:
            folder = Path(name)
            broker = ensure_running(folder / "broker", port=0)
            try:
                say(f"filling a topic and a file with {DOCUMENTS:,} documents")
                fill(broker.bootstrap_servers, folder / "rows")
                for number in range(-1, args.rounds):  # the first one warms the server up and counts for nothing
                    for side in ("client", "ours") if number % 2 else ("ours", "client"):
                        place = folder / f"{side}{number + 1}"
                        found = run(side, broker.bootstrap_servers, server, folder / "rows", place, args.threads, {})
                        warming = "" if number >= 0 else "  (to warm up)"
                        say(
                            f"{side:7} {found.rate:>8,.0f} documents/s  {found.cpu:5.2f} s of CPU per million  "
                            f"{found.memory:4.0f} MB  first after {found.start:.1f} s{warming}"
                        )
                        if number >= 0:
                            runs[side].append(found)
            finally:
                stop_broker(folder / "broker")
    finally:
        server.close()
    figures: dict[str, Any] = {
        side: {key: statistics.median(getattr(run, key) for run in found) for key in Run._fields}
        for side, found in runs.items()
    }
    ratios = [ours.rate / client.rate for ours, client in zip(runs["ours"], runs["client"], strict=True)]
    figures["ours to client"] = {"median": statistics.median(ratios), "least": min(ratios), "most": max(ratios)}
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2), encoding="utf-8")
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
