"""What a real Spark raises becomes a line that a person can act on."""

import os
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from connect.errors import ConfigError, ConnectError, DataError, RetriableError
from spark_sink.error_translation import SparkTrace, translate_error


def stream(spark: Any, fail: Callable[[], None]) -> Any:
    """A stream of one batch of two rows, whose reading in an executor does something first."""
    unique = f"failing-{uuid.uuid4().hex}"

    class Reader(DataSourceStreamReader):
        def initialOffset(self) -> dict[str, int]:  # noqa: N802
            return {"offset": 0}

        def latestOffset(self, *_: Any) -> dict[str, int]:  # noqa: N802
            return {"offset": 1}

        def partitions(self, start: Any, end: Any) -> list[InputPartition]:
            return [InputPartition(0)]

        def read(self, partition: InputPartition) -> Any:
            fail()
            yield (1,)

        def commit(self, end: Any) -> None: ...

    class Source(DataSource):
        @classmethod
        def name(cls) -> str:
            return unique

        def schema(self) -> str:
            return "a bigint"

        def streamReader(self, schema: Any) -> Reader:  # noqa: N802
            return Reader()

    spark.dataSource.register(Source)
    return spark.readStream.format(unique).load()


def ended(frame: Any, folder: Path, each: Callable[[Any, int], None], checkpoint: Path | None = None) -> ConnectError:
    """What the error of a query over this stream becomes."""
    place = checkpoint or folder / uuid.uuid4().hex
    query = frame.writeStream.option("checkpointLocation", str(place)).foreachBatch(each).start()
    try:
        with pytest.raises(Exception) as caught:  # noqa: PT011  of which kind is what is tested
            query.awaitTermination(60)
    finally:
        query.stop()
    return translate_error(caught.value)


def count(batch: Any, batch_id: int) -> None:
    batch.collect()


def nothing() -> None: ...


def delta(path: object) -> Callable[[Any, int], None]:
    return lambda batch, batch_id: batch.write.format("delta").mode("append").save(str(path))


def our_error() -> None:
    from connect.errors import DataError

    try:
        raise ValueError("unexpected end")
    except ValueError as error:
        raise DataError('Topic "orders", partition 3, offset 17: the value is not JSON.') from error


def our_config_error() -> None:
    from connect.errors import ConfigError

    raise ConfigError("transforms.t.type", "there is no such transformation.")


def no_broker() -> None:
    from confluent_kafka.admin import AdminClient

    AdminClient({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}).list_topics(timeout=1)


def killed() -> None:
    os.kill(os.getpid(), 9)


def no_module() -> None:
    raise ModuleNotFoundError("No module named 'confluent_kafka'")


def test_an_error_of_ours_in_an_executor_says_its_own_message(spark: Any, tmp_path: Path) -> None:
    found = ended(stream(spark, our_error), tmp_path, count)

    assert type(found) is DataError
    assert str(found) == 'Topic "orders", partition 3, offset 17: the value is not JSON.'
    assert isinstance(found.__cause__, SparkTrace)
    assert "unexpected end" in str(found.__cause__)
    assert "Logical Plan" not in str(found.__cause__)


@pytest.mark.slow
def test_a_configuration_error_keeps_its_key(spark: Any, tmp_path: Path) -> None:
    found = ended(stream(spark, our_config_error), tmp_path, count)

    assert isinstance(found, ConfigError)
    assert found.key == "transforms.t.type"


@pytest.mark.slow
def test_an_error_of_ours_in_the_driver_says_its_own_message(spark: Any, tmp_path: Path) -> None:
    def each(batch: Any, batch_id: int) -> None:
        raise RetriableError("the table is locked for a moment.")

    found = ended(stream(spark, nothing), tmp_path, each)

    assert type(found) is RetriableError
    assert str(found) == "the table is locked for a moment."


@pytest.mark.slow
def test_kafka_that_refuses_connections_may_pass(spark: Any, tmp_path: Path) -> None:
    found = ended(stream(spark, no_broker), tmp_path, count)

    assert "Kafka does not answer" in str(found)
    assert isinstance(translate_error(found), RetriableError)


@pytest.mark.slow
def test_a_python_process_that_was_killed_may_pass(spark: Any, tmp_path: Path) -> None:
    found = ended(stream(spark, killed), tmp_path, count)

    assert "ended without a word" in str(found)
    assert isinstance(translate_error(found), RetriableError)


@pytest.mark.slow
def test_a_module_that_executors_lack_is_named(spark: Any, tmp_path: Path) -> None:
    found = ended(stream(spark, no_module), tmp_path, count)

    assert "does not have the module confluent_kafka" in str(found)
    assert not isinstance(translate_error(found), RetriableError)


@pytest.mark.parametrize("table", ["/proc/table", "/etc/passwd/table"])
def test_a_path_that_cannot_be_written(spark: Any, tmp_path: Path, table: str) -> None:
    found = ended(stream(spark, nothing), tmp_path, delta(table))

    assert "cannot, write there" in str(found)
    assert table.rpartition("/")[0] in str(found)


@pytest.mark.slow
def test_a_folder_that_is_no_delta_table(spark: Any, tmp_path: Path) -> None:
    spark.range(3).write.parquet(str(tmp_path / "parquet"))

    with pytest.raises(Exception) as caught:  # noqa: PT011
        spark.sql(f"DESCRIBE HISTORY delta.`{tmp_path}/parquet`").collect()

    assert "not a Delta table" in str(translate_error(caught.value))


@pytest.mark.slow
def test_a_file_system_that_is_not_there(spark: Any, tmp_path: Path) -> None:
    found = ended(stream(spark, nothing), tmp_path, delta("s3a://bucket/table"))

    assert "spark.jars.packages=org.apache.hadoop:hadoop-aws" in str(found)


def test_records_that_do_not_fit_the_table(spark: Any, tmp_path: Path) -> None:
    spark.range(3).selectExpr("id b").write.format("delta").save(str(tmp_path / "new"))
    spark.range(3).selectExpr("cast(id as string) a").write.format("delta").save(str(tmp_path / "other"))

    new = ended(stream(spark, nothing), tmp_path, delta(tmp_path / "new"))
    other = ended(stream(spark, nothing), tmp_path, delta(tmp_path / "other"))

    assert "the table has no a long" in str(new)
    assert "do not fit the table's schema" in str(other)
    assert not isinstance(translate_error(new), RetriableError)


@pytest.mark.slow
def test_a_record_that_breaks_a_rule_of_the_table(spark: Any, tmp_path: Path) -> None:
    table = tmp_path / "table"
    spark.range(1).selectExpr("id a").write.format("delta").save(str(table))
    spark.sql(f"ALTER TABLE delta.`{table}` ADD CONSTRAINT small CHECK (a < 1)")

    found = ended(stream(spark, nothing), tmp_path, delta(table))

    assert type(found) is DataError
    assert "CHECK constraint small (a < 1)" in str(found)


@pytest.mark.slow
def test_writers_that_meet_may_pass(spark: Any, tmp_path: Path) -> None:
    spark.range(100).coalesce(1).selectExpr("id", "id v").write.format("delta").save(str(tmp_path / "table"))
    caught = []

    def update() -> None:
        try:
            spark.sql(f"UPDATE delta.`{tmp_path}/table` SET v = v + 1 WHERE id % 2 = 0")
        except Exception as error:
            caught.append(error)

    threads = [threading.Thread(target=update) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert caught
    assert all(isinstance(translate_error(error), RetriableError) for error in caught)
    assert "Another writer changed the table" in str(translate_error(caught[0]))


def test_a_damaged_checkpoint_is_named(spark: Any, tmp_path: Path) -> None:
    frame, checkpoint = stream(spark, nothing), tmp_path / "checkpoint"
    query = frame.writeStream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    query.foreachBatch(count).start().awaitTermination(60)
    (checkpoint / "offsets" / ".0.crc").unlink()
    (checkpoint / "offsets" / "0").write_text("damaged")

    found = ended(frame, tmp_path, count, checkpoint)

    assert "checkpoint cannot be read" in str(found)
    assert "offsets/0" in str(found)
    assert not isinstance(translate_error(found), RetriableError)
