"""`python -m bench.s3`: a topic into the objects of a bucket, beside a program written by hand for it.

1,000,000 records of about 200 bytes of JSON, one task, an object for each 50,000 records, into Versity's S3 gateway on
this machine. As lines of JSON in gzip (level 6) from records without a schema; as Parquet in snappy from records that
carry their schema. The program by hand (`bench/s3_by_hand.py`) consumes with confluent-kafka, parses with orjson or
Arrow, and uploads with boto3. Rate and CPU are those from the first object on to the last; CPU is that of the worker's
whole process tree, without the store's. The records in all objects are counted.
"""

import gzip
import io
import json
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import one
from bench.document import Rows
from bench.machine import say, versions
from bench.part import Settings
from bench.standalone import MeasurementFailed, Memory, program, watch, worker
from bench.tables import CPU, MEMORY, RATE, compare
from bench.topics import produce
from connect.kafka.broker import embedded as broker

if TYPE_CHECKING:
    from tests.servers.s3 import S3Bucket

OBJECTS = 20
#: What a worker with an S3 sink is told.
WORKER = {
    "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "connector.client.config.override.policy": "All",
}
_LOOK_S = 0.01
_TYPES = {"id": "int64", "name": "string", "city": "string", "amount": "double", "active": "boolean", "note": "string"}
_FORMS: dict[str, dict[str, str]] = {
    "jsonl": {"format.class": "json", "s3.compression.type": "gzip", "value.converter.schemas.enable": "false"},
    "parquet": {"format.class": "parquet", "value.converter.schemas.enable": "true"},
}


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


def _values(count: int, *, schema: bool) -> Iterator[bytes]:
    """So many records."""
    fields = [{"type": kind, "optional": name != "id", "field": name} for name, kind in _TYPES.items()]
    declared = json.dumps({"type": "struct", "optional": False, "fields": fields}).encode()
    for number in range(count):
        value = json.dumps(row(number), ensure_ascii=False, separators=(",", ":")).encode()
        yield b'{"schema":%b,"payload":%b}' % (declared, value) if schema else value


def run(side: str, form: str, bootstrap: str, bucket: "S3Bucket", folder: Path, count: int) -> dict[str, float]:
    """One run into a bucket of its own."""
    place = bucket.server.data / bucket.name
    each = count // OBJECTS

    def there() -> int:
        return each * sum(1 for at in place.rglob(f"{form}+0+*") if at.is_file() and ".sgwtmp" not in at.parts)

    runner = _ours if side == "ours" else _by_hand
    with runner(form, bootstrap, bucket, folder, count) as pid, Memory(pid) as memory:
        found = watch(there, count, pid, time.monotonic(), folder / "log", _LOOK_S)
    if (records := _count(bucket, form)) != count:
        raise MeasurementFailed(f"{side} wrote {records} records as {form}.")
    return {**found, "pss_mb": memory.most}


def _ours(form: str, bootstrap: str, bucket: "S3Bucket", folder: Path, count: int) -> AbstractContextManager[int]:
    """The sink in a standalone worker."""
    config = {
        **bucket.config,
        **_FORMS[form],
        "name": folder.name,
        "connector.class": "S3Sink",
        "topics": form,
        "tasks.max": "1",
        "flush.size": str(count // OBJECTS),
        "s3.part.size": str(5 << 20),
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "consumer.override.auto.offset.reset": "earliest",
    }
    return worker("ours", bootstrap, folder, config, WORKER)


def _by_hand(form: str, bootstrap: str, bucket: "S3Bucket", folder: Path, count: int) -> AbstractContextManager[int]:
    """The program for this topic."""
    from tests.servers.s3 import ACCESS_KEY, SECRET_KEY

    server = bucket.server
    words = [form, bootstrap, form, count, count // OBJECTS, server.endpoint, bucket.name, ACCESS_KEY, SECRET_KEY]
    return program(folder, [sys.executable, "-m", "bench.s3_by_hand", *map(str, words)])


def _count(bucket: "S3Bucket", form: str) -> int:
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


def measure(settings: Settings) -> dict[str, Any]:
    """Both formats by both sides in turn."""
    from tests.servers.s3 import VERSITYGW, VersityGateway

    count, rounds = settings.count(1_000_000, 40_000), settings.repeat()
    forms = [form for form in _FORMS if settings.wants(form)]
    rows = Rows({"ours": ["hand"]})
    server = VersityGateway()
    try:
        bootstrap = broker.ensure_running(settings.folder / "broker", port=0).bootstrap_servers
        try:
            for form in forms:
                say(f"filling a topic with {count:,} records for {form}")
                produce(bootstrap, form, _values(count, schema=form == "parquet"), settings={"linger.ms": 5})
            for number in range(rounds):
                for form in forms:
                    for side in ("hand", "ours") if number % 2 else ("ours", "hand"):
                        where = settings.folder / f"{side}-{form}-{number}"
                        found = run(side, form, bootstrap, server.bucket(), where, count)
                        rows.add(form, side, found, number)
                        say(
                            f"{form:7} {side}  {found['rate']:>9,.0f} records/s  {found['cpu_us']:5.2f} us of CPU  "
                            f"{found['pss_mb']:4.0f} MB"
                        )
        finally:
            broker.stop(settings.folder / "broker")
    finally:
        server.close()
    return {
        "settings": {"rounds": rounds, "records": count},
        "versions": {
            "versitygw": VERSITYGW,
            **versions("boto3", "orjson", "pyarrow", "connect-runtime", "confluent-kafka"),
        },
        "rows": rows.as_json(),
    }


def table(document: dict[str, Any]) -> str:
    """The document as Markdown."""
    rows = {"jsonl": "JSON lines in gzip, no schema", "parquet": "Parquet in snappy, schema in each record"}
    return compare(document, rows, (RATE, CPU, MEMORY), ("hand", "by hand"))


if __name__ == "__main__":
    sys.exit(one.main("bench.s3", "s3"))
