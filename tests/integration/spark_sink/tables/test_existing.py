"""A table that exists gets the properties and the clustering of the configuration."""

import logging
from typing import Any

import pyarrow as pa
import pytest

from connect.errors import ConfigError
from spark_sink.tables.table import Table

VALUE = {"id": pa.int64(), "text": pa.string()}
FEED = "table.property.delta.enableChangeDataFeed"
VECTORS = "table.property.delta.enableDeletionVectors"


def one(tables: Any, id_: int) -> Any:
    return tables.batch(VALUE, [{"value": {"id": id_, "text": "a"}}])


def create(tables: Any, more: str = "") -> None:
    tables.spark.sql(f"CREATE TABLE delta.`{tables.path()}` (id bigint, text string) USING delta {more}")


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "spark_sink.tables.existing")
    return caplog


def test_only_properties_that_differ_are_written_once(tables: Any, said: pytest.LogCaptureFixture) -> None:
    create(tables, "TBLPROPERTIES ('delta.appendOnly' = 'false')")
    keys = {FEED: "true", VECTORS: "TRUE", "table.property.delta.appendOnly": "FALSE", "table.property.team": "shop"}
    for app, number in (("a", 0), ("a", 1), ("b", 0)):
        tables.writer(app, **keys)(one(tables, number), number)
    assert tables.operations() == ["CREATE TABLE", "SET TBLPROPERTIES", "WRITE", "WRITE", "WRITE"]
    found = tables.detail()
    assert found.properties["team"] == "shop"
    assert {"changeDataFeed", "deletionVectors"} <= set(found.tableFeatures)
    assert "delta.enableChangeDataFeed=true (before: not set)" in said.text
    assert "appendOnly" not in said.text.partition("need more")[0]
    assert "need more from now on: reader 3, writer 7, with" in said.text


@pytest.mark.slow
def test_a_table_of_ours_is_not_written_twice(tables: Any) -> None:
    for number in range(2):
        tables.writer(str(number), **{FEED: "true", "cluster.by": "id,text"})(one(tables, number), 0)
    assert tables.operations() == ["CREATE TABLE", "WRITE", "WRITE"]


@pytest.mark.slow
def test_column_mapping_comes_before_the_columns_that_need_it(tables: Any) -> None:
    create(tables)
    odd = {**VALUE, "a b": pa.int64()}
    tables.writer(column__mapping="name")(tables.batch(odd, [{"value": {"id": 1, "text": "a", "a b": 2}}]), 0)
    assert tables.read_by_spark() == [{"id": 1, "text": "a", "a b": 2}]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "key", "words"),
    [
        (
            {"table.property.delta.nonsense": "1", FEED: "true"},
            "table.property.delta.nonsense",
            "cannot be set for the table .* exists: .*DELTA_UNKNOWN_CONFIGURATION.* Leave it out",
        ),
        ({"table.property.owner": "me"}, "table.property.owner", "is a reserved table property"),
        ({"column.mapping": "id"}, "column.mapping", "'none' to 'id' is not supported"),
        ({"cluster.by": "nothing"}, "cluster.by", '"nothing" is not a column of the table'),
        ({"cluster.by": "text.inner"}, "cluster.by", "which has: id, text"),
    ],
)
def test_what_the_table_cannot_have_is_refused(tables: Any, keys: dict[str, str], key: str, words: str) -> None:
    create(tables)
    with pytest.raises(ConfigError, match=words) as raised:
        tables.writer(**keys)(one(tables, 1), 0)
    assert raised.value.key == key
    assert "\n" not in str(raised.value)
    assert tables.read() == []


def test_clustering_is_changed(tables: Any, said: pytest.LogCaptureFixture) -> None:
    create(tables, "CLUSTER BY (text)")
    tables.writer("a", cluster__by="ID")(one(tables, 0), 0)
    tables.writer("b", cluster__by="id")(one(tables, 1), 0)
    tables.writer("c")(one(tables, 2), 0)
    assert tables.operations() == ["CREATE TABLE", "CLUSTER BY", "WRITE", "WRITE", "WRITE"]
    assert [name.lower() for name in tables.detail().clusteringColumns] == ["id"]
    assert "is clustered by ID from now on (before: text)" in said.text


@pytest.mark.slow
def test_a_new_column_may_be_clustered_by_at_once(tables: Any) -> None:
    create(tables)
    more = {**VALUE, "s": pa.struct([("n", pa.int32())])}
    tables.writer(cluster__by="s.n")(tables.batch(more, [{"value": {"id": 1, "text": "a", "s": {"n": 1}}}]), 0)
    assert tables.detail().clusteringColumns == ["s.n"]


@pytest.mark.slow
def test_a_partitioned_table_is_not_clustered(tables: Any) -> None:
    create(tables, "PARTITIONED BY (text)")
    with pytest.raises(ConfigError, match="is partitioned by text. Leave it out, or write to a new table"):
        tables.writer(cluster__by="id")(one(tables, 0), 0)


@pytest.mark.slow
def test_another_writer_in_the_way_costs_a_retry_only(tables: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    create(tables)
    real, late = Table.set_properties, []

    def with_another(self: Table, properties: Any) -> None:
        if not late:
            late.append(self)
            raise RuntimeError("[DELTA_METADATA_CHANGED] MetadataChangedException: somebody was faster")
        real(self, properties)

    monkeypatch.setattr(Table, "set_properties", with_another)
    tables.writer(**{FEED: "true"})(one(tables, 0), 0)
    assert tables.detail().properties["delta.enableChangeDataFeed"] == "true"
    assert len(tables.read()) == 1
