"""What a plan holds is shown by nothing of Spark's (P8)."""

import json
import logging
from typing import Any

import pytest

from connect.data.schema import INT64, Schema
from spark_sink.reading import register
from spark_sink.session import jvm_log

from .readings import Readings

pytestmark = pytest.mark.promise("P8")

SECRET = "hunter2-in-the-clear"


def test_secrets_are_in_no_plan_no_report_no_setting_and_no_log_of_spark_s(
    readings: Readings, new_topic: Any, caplog: pytest.LogCaptureFixture, capfd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    for limit in ("_AT_ONCE", "_LONGEST"):
        monkeypatch.setattr(jvm_log, limit, 10**9)  # all that Spark says
    topic = new_topic()
    readings.produce(topic, [{"id": 1}, b"bad"])
    readings.worker |= {"consumer.sasl.mechanism": "PLAIN", "database.password": SECRET}
    config = {"consumer.override.sasl.password": SECRET, "connection.password": SECRET}
    plan = readings.plan(topic, values=Schema.struct({"id": INT64.as_optional()}), config=config)
    rows = readings.spark.readStream.format(register(readings.spark, plan)).load()
    rows.explain(extended=True)
    rows.explain(mode="formatted")
    shown = [capfd.readouterr().out, repr(rows), repr(plan), rows._jdf.queryExecution().toString()]
    readings.spark.sparkContext.setLogLevel("INFO")
    try:
        tolerant = readings.plan(topic, values=plan.rows.values, config={**config, "errors.tolerance": "all"})
        run = readings.available(tolerant)
        shown += [str(readings.start(plan, "fails").error())]
    finally:
        readings.spark.sparkContext.setLogLevel("WARN")
    assert [row["_value"] for row in run.rows] == [{"id": 1}]
    shown += [report.json for report in run.query.recentProgress]
    shown += [json.dumps(dict(readings.spark.sparkContext.getConf().getAll()))]
    shown += [str([(row["key"], row["value"]) for row in readings.spark.sql("SET -v").collect()])]
    shown += [path.read_text(errors="replace") for path in readings.folder.rglob("*") if path.is_file()]
    shown += [run.query._jsq.explainInternal(True) or "", caplog.text, *capfd.readouterr()]
    told = "".join(shown)
    assert plan.id in told  # the source's name is
    assert sum(record.name == "spark" for record in caplog.records) > 20  # Spark said much
    assert SECRET not in told
