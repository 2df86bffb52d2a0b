"""`python -m bench.s3`: a topic into the objects of a bucket, beside a program written by hand for it.

1,000,000 records of about 200 bytes of JSON, one task, an object for each 50,000 records, into Versity's S3 gateway on
this machine. As lines of JSON in gzip (level 6) from records without a schema; as Parquet in snappy from records that
carry their schema. The program by hand (`bench/s3_by_hand.py`) consumes with confluent-kafka, parses with orjson or
Arrow, and uploads with boto3. Rate and CPU are those from the first object on to the last; CPU is that of the worker's
whole process tree, without the store's. The records in all objects are counted.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bench import tree
from bench.jdbc import Memory, worker
from bench.machine import introduce, say
from bench.workers import stop
from connect.kafka.broker import ensure_running
from connect.kafka.broker import stop as stop_broker
from tests.servers.s3 import ACCESS_KEY, SECRET_KEY, S3Bucket, VersityGateway

RECORDS = 1_000_000
A_FILE = 50_000
_LOOK_S = 0.01
_TYPES = {"id": "int64", "name": "string", "city": "string", "amount": "double", "active": "boolean", "note": "string"}
_FORMS: dict[str, dict[str, str]] = {
    "jsonl": {"format.class": "json", "s3.compression.type": "gzip", "value.converter.schemas.enable": "false"},
    "parquet": {"format.class": "parquet", "value.converter.schemas.enable": "true"},
}


class Run(NamedTuple):
    """One run, from the first object on.

    Attributes:
        rate: records a second.
        cpu: seconds of CPU for 1,000,000 records.
        memory: the most, in MB, each shared page divided among those who share it.
    """

    rate: float
    cpu: float
    memory: float


def row(number: int) -> dict[str, Any]:
    """One record, about 200 bytes of JSON."""
    return {
        "id": number,
        "name": f"customer {number % 1000}",
        "city": "Zürich" if number % 2 else "Bern",
        "amount": number / 4,
        "active": number % 3 == 0,
        "note": f"note of the record number {number:012d}, which says {number * 2654435761 % 2**56:014x} and more",
    }


def fill(bootstrap: str, topic: str, *, schema: bool) -> None:
    """A topic of one partition with all records."""
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)
    fields = [{"type": kind, "optional": name != "id", "field": name} for name, kind in _TYPES.items()]
    start = (
        b'{"schema":' + json.dumps({"type": "struct", "optional": False, "fields": fields}).encode() + b',"payload":'
    )
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "queue.buffering.max.messages": 500_000})
    for first in range(0, RECORDS, 10_000):
        values = [
            json.dumps(row(n), ensure_ascii=False, separators=(",", ":")).encode() for n in range(first, first + 10_000)
        ]
        producer.produce_batch(topic, [{"value": start + value + b"}" if schema else value} for value in values])
        while len(producer) > 200_000:
            producer.poll(0.01)
    producer.flush()


def run(side: str, form: str, bootstrap: str, bucket: S3Bucket, folder: Path) -> Run:
    """One run into a bucket of its own."""
    runner = ours if side == "ours" else by_hand
    place = bucket.server.data / bucket.name
    began = time.monotonic()
    seen: list[tuple[int, float, float]] = []  # objects, when, and CPU until then
    with runner(form, bootstrap, bucket, folder) as pid, Memory(pid) as memory:
        while not seen or seen[-1][0] < RECORDS // A_FILE:
            count = sum(1 for each in place.rglob(f"{form}+0+*") if each.is_file() and ".sgwtmp" not in each.parts)
            if count and (not seen or count > seen[-1][0]):
                seen.append((count, time.monotonic(), tree.cpu(pid)))
            if time.monotonic() - began > 300:
                raise TimeoutError((folder / "log").read_text(encoding="utf-8")[-3000:])
            time.sleep(_LOOK_S)
    (first, then, before), (last, now, after) = seen[0], seen[-1]
    records = (last - first) * A_FILE
    if (found := _count(bucket, form)) != RECORDS:
        raise RuntimeError(f"{side} wrote {found} records as {form}.")
    return Run(records / (now - then), (after - before) / records * 1e6, memory.most)


@contextmanager
def ours(form: str, bootstrap: str, bucket: S3Bucket, folder: Path) -> Iterator[int]:
    """The sink in a standalone worker."""
    config: Mapping[str, str] = {
        **bucket.config,
        **_FORMS[form],
        "name": folder.name,
        "connector.class": "S3Sink",
        "topics": form,
        "tasks.max": "1",
        "flush.size": str(A_FILE),
        "s3.part.size": str(5 << 20),
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "consumer.override.auto.offset.reset": "earliest",
    }
    with worker("ours", bootstrap, folder, config) as pid:
        yield pid


@contextmanager
def by_hand(form: str, bootstrap: str, bucket: S3Bucket, folder: Path) -> Iterator[int]:
    """The program for this topic."""
    folder.mkdir(parents=True)
    words = [form, bootstrap, form, RECORDS, A_FILE, bucket.server.endpoint, bucket.name, ACCESS_KEY, SECRET_KEY]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.s3_by_hand", *map(str, words)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        )
    try:
        yield process.pid
    finally:
        stop(process)


def _count(bucket: S3Bucket, form: str) -> int:
    import pyarrow.parquet as pq

    found = 0
    for key in bucket.keys():  # noqa: SIM118
        data = bucket.get(key)
        if form == "parquet":
            found += pq.ParquetFile(io.BytesIO(data)).metadata.num_rows
        else:
            found += gzip.decompress(data).count(b"\n")
        bucket.delete(key)
    return found


def main() -> None:
    """Measure, print a table and all figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="of each, in turns (default: 3)")
    parser.add_argument("--only", choices=list(_FORMS), help="only this format")
    parser.add_argument("--json", type=Path, help="write all figures there")
    args = parser.parse_args()
    introduce()
    runs: dict[str, list[Run]] = {}
    forms = [args.only] if args.only else list(_FORMS)
    server = VersityGateway()
    try:
        with tempfile.TemporaryDirectory(prefix="connect-bench-") as name:
            folder = Path(name)
            broker = ensure_running(folder / "broker", port=0)
            try:
                for form in forms:
                    say(f"filling a topic with {RECORDS:,} records for {form}")
                    fill(broker.bootstrap_servers, form, schema=form == "parquet")
                for number in range(args.rounds):
                    for form in forms:
                        for side in ("hand", "ours") if number % 2 else ("ours", "hand"):
                            where = folder / f"{side}-{form}-{number}"
                            found = run(side, form, broker.bootstrap_servers, server.bucket(), where)
                            runs.setdefault(f"{form} {side}", []).append(found)
                            say(
                                f"{form:7} {side}  {found.rate:>9,.0f} records/s  {found.cpu:5.2f} s of CPU  "
                                f"{found.memory:4.0f} MB"
                            )
            finally:
                stop_broker(folder / "broker")
    finally:
        server.close()
    figures = {
        name: {key: statistics.median(getattr(each, key) for each in found) for key in Run._fields}
        for name, found in runs.items()
    }
    print(table(figures, forms))
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2), encoding="utf-8")


def table(figures: Mapping[str, Mapping[str, float]], forms: list[str]) -> str:
    """The figures in Markdown: medians, and what ours is to the other."""
    lines = ["| format | | records/s | CPU-s per million | memory, MB |", "|---|---|---|---|---|"]
    for form in forms:
        one, other = figures[f"{form} ours"], figures[f"{form} hand"]
        for side, each in (("S3 sink", one), ("by hand", other)):
            lines.append(f"| {form} | {side} | {each['rate']:,.0f} | {each['cpu']:.2f} | {each['memory']:.0f} |")
        lines.append(f"| {form} | ratio | {one['rate'] / other['rate']:.2f} | {one['cpu'] / other['cpu']:.2f} | |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
