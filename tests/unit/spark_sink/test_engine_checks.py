"""What the Spark engine says of a connector before it runs."""

from typing import Any

import pytest

from connectors.file.sink import FileStreamSinkConnector
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
