"""What the Spark engine says of a connector before it runs."""

from typing import Any

import pytest

from connect.errors import ConfigError
from connectors.datagen import DatagenConnector
from connectors.file.sink import FileStreamSinkConnector
from connectors.file.source import FileStreamSourceConnector
from connectors.jdbc.source import JdbcSourceConnector
from connectors.s3.source import S3SourceConnector
from spark_sink import engine
from spark_sink.sink.connector import SparkSinkConnector


@pytest.mark.parametrize(
    "connector", [FileStreamSinkConnector, SparkSinkConnector], ids=lambda connector: connector.__name__
)
def test_where_spark_is_missing_the_other_engine_is_named(
    connector: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "find_spec", lambda name: None)
    ((key, message),) = engine.SparkEngine().check(connector, {})
    assert key == "engine"
    assert message.endswith("or write engine=worker.")


@pytest.mark.parametrize("connector", [DatagenConnector, JdbcSourceConnector, S3SourceConnector])
def test_keys_of_sinks_are_refused_for_sources(connector: type[Any]) -> None:
    config = {"trigger": "available_now", "checkpoint.location": "/c", "sink.flush.timeout.ms": "5", "max.rows": "3"}
    problems = dict(engine.SparkEngine().check(connector, config))
    assert set(problems) == {"checkpoint.location", "sink.flush.timeout.ms"}
    assert all("for sinks on Spark" in said for said in problems.values())
    assert not [key for key, _ in engine.SparkEngine().check(FileStreamSinkConnector, config)]


def test_sources_that_can_be_split_run_on_spark() -> None:
    assert type(engine.SparkEngine().task(DatagenConnector)).__name__ == "ConnectorSourceTask"
    assert "spark" in DatagenConnector.engines
    assert "spark" not in FileStreamSourceConnector.engines
    with pytest.raises(ConfigError, match="does not run on Spark"):
        engine.SparkEngine().task(FileStreamSourceConnector)
