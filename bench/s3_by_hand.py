"""What the S3 sink is measured against: the same objects, by a program for this one topic.

`python -m bench.s3_by_hand FORM BOOTSTRAP TOPIC COUNT RECORDS ENDPOINT BUCKET KEY SECRET` consumes COUNT records and
writes an object for each RECORDS of them, in parts of 5 MiB where it is larger.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import orjson
from botocore.config import Config
from confluent_kafka import Consumer

PART = 5 << 20


class Upload:
    """One object, put at once or in parts; a file for Arrow."""

    closed = False

    def __init__(self, client: Any, bucket: str, key: str) -> None:
        self._client = client
        self._to = {"Bucket": bucket, "Key": key}
        self._at = 0
        self._waiting = bytearray()
        self._id: str | None = None
        self._parts: list[dict[str, Any]] = []

    def write(self, data: bytes) -> int:
        """Take the next bytes."""
        self._waiting += data
        self._at += len(data)
        while len(self._waiting) >= PART:
            self._part(bytes(self._waiting[:PART]))
            del self._waiting[:PART]
        return len(data)

    def finish(self) -> None:
        """Make the object."""
        rest = bytes(self._waiting)
        if self._id is None:
            self._client.put_object(**self._to, Body=rest)
            return
        self._part(rest)
        parts = {"Parts": self._parts}
        self._client.complete_multipart_upload(**self._to, UploadId=self._id, MultipartUpload=parts)

    def flush(self) -> None:
        """Nothing to do: `finish` ends it."""

    close = flush

    def tell(self) -> int:
        """How many bytes were written."""
        return self._at

    def readable(self) -> bool:
        """It cannot be read."""
        return False

    def writable(self) -> bool:
        """It can be written."""
        return True

    def seekable(self) -> bool:
        """Only at its end."""
        return False

    def _part(self, body: bytes) -> None:
        if self._id is None:
            self._id = self._client.create_multipart_upload(**self._to)["UploadId"]
        number = len(self._parts) + 1
        answer = self._client.upload_part(**self._to, UploadId=self._id, PartNumber=number, Body=body)
        self._parts.append({"PartNumber": number, "ETag": answer["ETag"]})


def jsonl(batches: Iterator[list[bytes]], upload: Upload) -> None:
    """JSON without a schema, checked and written compactly, in gzip."""
    pack = zlib.compressobj(-1, zlib.DEFLATED, 31)
    for batch in batches:
        lines = [orjson.dumps(orjson.loads(value)) for value in batch]
        upload.write(pack.compress(b"\n".join(lines) + b"\n"))
    upload.write(pack.flush())
    upload.finish()


def parquet(batches: Iterator[list[bytes]], upload: Upload) -> None:
    """JSON with its schema in each record, as Parquet in snappy. Who writes such a program knows the schema."""
    import io

    import pyarrow as pa
    import pyarrow.json as pj
    import pyarrow.parquet as pq

    kind = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            pa.field("name", pa.string()),
            pa.field("city", pa.string()),
            pa.field("amount", pa.float64()),
            pa.field("active", pa.bool_()),
            pa.field("note", pa.string()),
        ]
    )
    envelope = pa.schema([("payload", pa.struct(list(kind)))])
    options = pj.ParseOptions(explicit_schema=envelope, unexpected_field_behavior="ignore")
    whole = pj.ReadOptions(block_size=64 << 20)
    tables = []
    for batch in batches:
        found = pj.read_json(io.BytesIO(b"\n".join(batch)), read_options=whole, parse_options=options)
        tables.append(pa.Table.from_arrays(found["payload"].combine_chunks().flatten(), schema=kind))
    out = pa.PythonFile(upload, mode="w")
    with pq.ParquetWriter(out, kind, compression="snappy") as writer:
        table = pa.concat_tables(tables)
        writer.write_table(table, row_group_size=len(table))
    upload.finish()


FORMS: dict[str, Callable[[Iterator[list[bytes]], Upload], None]] = {"jsonl": jsonl, "parquet": parquet}


def main() -> None:
    """Consume and write."""
    form, bootstrap, topic, count, records, endpoint, bucket, key, secret = sys.argv[1:]
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"by-hand-{bucket}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "fetch.queue.backoff.ms": 5,
        }
    )
    consumer.subscribe([topic])
    client = boto3.client(
        "s3",
        endpoint_url=endpoint,
        aws_access_key_id=key,
        aws_secret_access_key=secret,
        region_name="us-east-1",
        config=Config(
            s3={"addressing_style": "path"},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        ),
    )
    rest: list[bytes] = []

    def some(number: int) -> Iterator[list[bytes]]:
        left = number
        while left:
            values = rest[:left]
            del rest[:left]
            if not values:
                rest.extend(
                    message.value() or b"" for message in consumer.consume(2000, 0.2) if message.error() is None
                )
                continue
            left -= len(values)
            yield values

    for number in range(0, int(count), int(records)):
        FORMS[form](some(int(records)), Upload(client, bucket, f"{topic}+0+{number:010d}"))
    consumer.close()


if __name__ == "__main__":
    main()
