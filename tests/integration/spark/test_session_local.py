"""A session on this machine: real Spark, real Delta, ended with all its processes."""

from pathlib import Path
from typing import Any


def test_a_local_session_writes_and_reads_a_delta_table(spark: Any, tmp_path: Path) -> None:
    table = str(tmp_path / "table")
    spark.range(1000).write.format("delta").save(table)

    assert spark.read.format("delta").load(table).count() == 1000
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
