"""Makes the file of Spark's classes: `python -m spark_sink.session.archiving`.

A Spark of its own does what connectors have Spark do, for about a minute, and its JVM writes the file as it ends.
"""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from connect.errors import ConnectError, RetriableError
from connect.jvm import class_archive
from connect.ports import free_port
from spark_sink.session import conf as confs
from spark_sink.session.class_archive import LOCAL, PROGRAM, archive_of_local, refusal
from spark_sink.session.installation import java_for_spark
from spark_sink.session.session import open_session

#: What must be free for a second JVM with its Python workers, in bytes.
_MEMORY: Final = 1536 << 20
#: How long a client may take, and the JVM to write the file, in seconds.
_ANSWERS_WITHIN: Final = 120.0
_WRITTEN_WITHIN: Final = 300.0
_CGROUP: Final = Path("/sys/fs/cgroup")


def make(folder: Path) -> Path:
    """Make the file, and wait for it. One process at a time does; another one finds it made.

    Args:
        folder: for temporary files, as large as itself.

    Raises:
        ConnectError: Spark cannot start, or its JVM has written nothing.
    """
    archive = archive_of_local()
    archive.parent.mkdir(parents=True, exist_ok=True)
    with archive.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not archive.exists():
            _write(archive, folder)
    if not archive.exists():
        raise ConnectError("Spark's JVM has written no archive of its classes: Java cannot, or the disk is full.")
    return archive


def _write(archive: Path, folder: Path) -> None:
    java = java_for_spark()
    options = class_archive.writing(archive, folder, java)
    token, port = secrets.token_hex(16), free_port()
    config = {**LOCAL, confs.JAVA_OPTIONS: " ".join(options), "spark.sql.shuffle.partitions": "1"}
    if remote := importlib.util.find_spec("grpc") is not None:
        config |= {
            "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(port),
            "spark.connect.authenticate.token": token,
        }
    session = open_session(config, "class-archive")
    try:
        _work(session.spark, folder)
        if remote:
            # A client is another process: this one has a session already.
            address = f"sc://localhost:{port}/;token={token}"
            client = [sys.executable, "-W", "ignore", "-m", PROGRAM, "--client", str(folder)]
            with suppress(subprocess.TimeoutExpired):
                subprocess.run(client, input=address.encode(), check=False, timeout=_ANSWERS_WITHIN)
    finally:
        session.close(within=_WRITTEN_WITHIN)
    class_archive.keep(folder)


def _work(spark: Any, folder: Path) -> None:
    """What connectors have Spark do, in as few lines as load its classes."""
    from pyspark.sql import DataFrame

    fields = [{"name": "id", "type": "long"}, {"name": "word", "type": "string"}, {"name": "amount", "type": "double"}]
    schema = json.dumps({"type": "record", "name": "row", "fields": fields})
    source = {"connector.class": "Datagen", "kafka.topic": "t", "iterations": "100", "rate": "100000"}
    rows = spark.readStream.format("connect").options(**source, **{"schema.string": schema}).load()
    table = str(folder / "table")

    def append_and_merge(batch: DataFrame, number: int) -> None:
        batch.write.format("delta").mode("append").save(table)
        batch.createOrReplaceTempView("batch")
        batch.sparkSession.sql(
            f"MERGE INTO delta.`{table}` t USING (SELECT id, max(word) AS word FROM batch GROUP BY id) s"  # noqa: S608
            " ON t.id = s.id WHEN MATCHED THEN UPDATE SET word = s.word WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
        )

    writer = rows.select("id", "word", "amount").writeStream.foreachBatch(append_and_merge)
    _to_the_end(writer, folder / "of-table")
    sink = {"connector.class": "FileStreamSink", "file": str(folder / "file")}
    _to_the_end(rows.writeStream.format("connect").options(**sink), folder / "of-file")
    spark.range(0, 2, 1, 2).mapInArrow(_unchanged, "id long").collect()
    spark.read.format("delta").load(table).groupBy("word").count().orderBy("word").limit(5).toArrow()


def _to_the_end(writer: Any, checkpoint: Path) -> None:
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination()


def _unchanged(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def _ask(address: str, folder: Path) -> None:
    """What sessions of Spark Connect ask for."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote(address).getOrCreate()
    rows = spark.createDataFrame([(1, "a")], "id long, word string")
    rows.write.format("delta").save(str(folder / "remote"))
    spark.read.format("delta").load(str(folder / "remote")).groupBy("word").count().collect()
    spark.stop()


@contextmanager
def _in_background(archive: Path) -> Iterator[bool]:
    """Whether there is something to do here and now, with the least claim to the machine; notes what fails."""
    os.nice(19)
    free = free_memory()
    if archive.exists() or (free is not None and free < _MEMORY):
        yield False
        return
    try:
        yield True
    except RetriableError as error:
        sys.stderr.write(f"{error}\n")  # another task tries again
    except Exception as error:  # Spark raises anything
        refusal(archive).write_text(f"{error}\n", encoding="utf-8")


def free_memory(cgroup: Path = _CGROUP, meminfo: Path = Path("/proc/meminfo")) -> int | None:
    """How many bytes further processes may use here; None where that is not seen."""
    found = []
    with suppress(OSError, ValueError):
        limit, used = (int(cgroup.joinpath(name).read_text()) for name in ("memory.max", "memory.current"))
        cached = dict(line.split() for line in cgroup.joinpath("memory.stat").read_text().splitlines())
        found.append(limit - used + int(cached.get("inactive_file", 0)))
    with suppress(OSError):
        lines = dict(line.partition(":")[::2] for line in meminfo.read_text().splitlines())
        if available := lines.get("MemAvailable"):
            found.append(int(available.split()[0]) << 10)
    return min(found, default=None)


def main(arguments: list[str]) -> int:
    """Make the file, and say where it is."""
    if arguments[:1] == ["--client"]:
        _ask(sys.stdin.read(), Path(arguments[1]))
        return 0
    try:
        if arguments[:1] == ["--in-background"]:
            with _in_background(archive_of_local()) as wanted:
                if wanted:
                    make(Path(arguments[1]))
            return 0
        with tempfile.TemporaryDirectory() as folder:
            made = make(Path(folder))
    except (ConnectError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{made}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
