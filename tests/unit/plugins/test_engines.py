"""Which engine runs a connector."""

from pathlib import Path
from typing import Any

import pytest

from connect import SinkConnector, SourceConnector
from connect.api.engine import Engine
from connect.errors import ConfigError
from connect.plugins.engines import chosen_engine, load_engine
from connect.plugins.loading import load_class

THIRD_PARTY = """
from connect import SinkConnector, SinkTask


class TheirTask(SinkTask):
    def put(self, batch):
        pass


class TheirSink(SinkConnector):
    version = "1.0"
    task = TheirTask
"""


class TableSink(SinkConnector):
    engines = ("spark", "worker")


class OnlyHere(SinkConnector):
    engines = ("worker",)


class OnlySpark(SourceConnector):
    engines = ("spark",)


class Elsewhere(SinkConnector):
    engines = ("beam", "worker")


class Nowhere(SinkConnector):
    engines = ("beam",)


@pytest.mark.parametrize(
    ("connector", "wish", "default", "chosen"),
    [
        # Any sink: on the worker unless somebody says otherwise; its own word wins.
        (SinkConnector, None, None, "worker"),
        (SinkConnector, "", "worker", "worker"),
        (SinkConnector, None, "spark", "spark"),
        (SinkConnector, "spark", None, "spark"),
        (SinkConnector, " worker ", "spark", "worker"),
        (SinkConnector, "spark", "worker", "spark"),
        # A source: on the worker, whatever the default for those that have a choice.
        (SourceConnector, None, None, "worker"),
        (SourceConnector, None, "spark", "worker"),
        (SourceConnector, "worker", "spark", "worker"),
        (OnlyHere, None, "spark", "worker"),
        # Made for Spark: there unless the connector says otherwise.
        (TableSink, None, None, "spark"),
        (TableSink, None, "worker", "spark"),
        (TableSink, "worker", "spark", "worker"),
        (OnlySpark, None, "worker", "spark"),
        # A default that nobody knows is none; the worker refuses to start with it.
        (SinkConnector, None, "beam", "worker"),
        (SinkConnector, None, " spark ", "spark"),
        # What a class offers that is not there is no choice.
        (Elsewhere, None, None, "worker"),
    ],
)
def test_the_connector_s_word_then_the_worker_s_then_what_the_class_is_made_for(connector, wish, default, chosen):
    config = {} if wish is None else {"engine": wish}
    worker = {} if default is None else {"engine.default": default}
    assert chosen_engine(connector, config, worker) == chosen


@pytest.mark.parametrize(
    ("connector", "wish", "message"),
    [
        (SourceConnector, "spark", "SourceConnector runs on worker. Write worker."),
        (OnlySpark, "worker", "OnlySpark runs on spark. Write spark."),
        (
            SinkConnector,
            "flink",
            'SinkConnector runs on worker or spark, and there is no engine "flink". Write worker.',
        ),
        (TableSink, "Spark", 'TableSink runs on spark or worker, and there is no engine "Spark". Write spark.'),
        (Elsewhere, "beam", 'Elsewhere runs on worker, and there is no engine "beam". Write worker.'),
    ],
)
def test_a_wish_that_cannot_be_had_says_what_can(connector, wish, message):
    with pytest.raises(ConfigError) as caught:
        chosen_engine(connector, {"engine": wish}, {"engine.default": "spark"})
    assert (caught.value.key, caught.value.message) == ("engine", message)


def test_a_connector_for_engines_that_are_not_there_says_so():
    for config in ({}, {"engine": "beam"}):
        with pytest.raises(ConfigError, match=r"Nowhere runs on beam, which this runtime does not have\."):
            chosen_engine(Nowhere, config, {})


def test_a_sink_of_somebody_else_has_the_choice(tmp_path: Path):
    (tmp_path / "theirs.py").write_text(THIRD_PARTY)
    theirs = load_class("theirs:TheirSink", str(tmp_path))
    assert chosen_engine(theirs, {}, {}) == "worker"
    assert chosen_engine(theirs, {}, {"engine.default": "spark"}) == "spark"
    assert chosen_engine(theirs, {"engine": "spark"}, {}) == "spark"


def test_an_engine_is_loaded_by_its_name_and_says_which_keys_are_its_own():
    engine: Engine = load_engine("spark")
    assert engine.name == "spark"
    assert engine.knows("spark.executor.memory")
    assert not engine.knows("spork")
    keys = {setting.name for setting in engine.settings}
    assert {"trigger", "max.records.per.batch", "fail.on.data.loss", "spark.master"} <= keys


def test_the_engine_of_tables_has_a_task_for_sinks_and_none_for_any_source():
    engine = load_engine("spark")
    made: Any = engine.task(SinkConnector)
    assert type(made).__name__ == "ConnectorSinkTask"
    with pytest.raises(ConfigError, match="SourceConnector does not run on Spark"):
        engine.task(SourceConnector)
