"""Keys of Iceberg's Java catalogs, contradictions in configurations, and what errors say."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests
import sqlalchemy.exc
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import ForbiddenError, OAuthError, ServerError, UnauthorizedError
from pyiceberg.io.pyarrow import PyArrowFileIO

from connect import ConfigError, ConnectError, RetriableError
from connect.plugins.engines import chosen_engine
from connect.testing import SinkRun
from spark_sink.iceberg.catalog import open_catalog, properties_for_pyiceberg, shown_address
from spark_sink.iceberg.connector import IcebergSinkConnector
from spark_sink.iceberg.keys import split_expressions
from spark_sink.iceberg.partitions import parse
from spark_sink.iceberg.problems import catalog_error, table_error

Run = Callable[..., SinkRun]


class TestProperties:
    @pytest.mark.parametrize(
        ("theirs", "ours"),
        [
            ({"type": "rest", "uri": "https://c:8181"}, {"type": "rest", "uri": "https://c:8181"}),
            ({"catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog"}, {"type": "glue"}),
            (
                {"type": "jdbc", "uri": "jdbc:postgresql://h:5432/d", "jdbc.user": "me", "jdbc.password": "a/b"},
                {"type": "sql", "uri": "postgresql+psycopg://me:a%2Fb@h:5432/d"},
            ),
            ({"type": "sql", "uri": "jdbc:sqlite:file:/x.db"}, {"type": "sql", "uri": "sqlite:////x.db"}),
            ({"uri": "postgresql://u@h/d"}, {"uri": "postgresql+psycopg://u@h/d"}),
            ({"type": "hive", "uri": "thrift://h:9083"}, {"type": "hive", "uri": "thrift://h:9083"}),
            ({"s3.path-style-access": "true"}, {"s3.force-virtual-addressing": "false"}),
            ({"client.region": "eu"}, {"client.region": "eu", "s3.region": "eu"}),
            (
                {"uri": "http://c/", "credential": "a:b", "scope": "x"},
                {
                    "uri": "http://c/",
                    "credential": "a:b",
                    "scope": "x",
                    "oauth2-server-uri": "http://c/v1/oauth/tokens",
                },
            ),
        ],
    )
    def test_of_java_become_those_of_pyiceberg(self, theirs: dict[str, str], ours: dict[str, str]) -> None:
        assert properties_for_pyiceberg(theirs)[0] == ours

    def test_that_only_java_knows_are_told(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        properties = {
            "type": "sql",
            "uri": f"sqlite:///{tmp_path}/c.db",
            "warehouse": f"file://{tmp_path}",
            "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
            "cache-enabled": "false",
        }
        with caplog.at_level(logging.INFO):
            open_catalog("c", properties).close()
        assert "have no effect: iceberg.catalog.cache-enabled, iceberg.catalog.io-impl." in caplog.text

    @pytest.mark.parametrize(
        ("properties", "why"),
        [
            ({"type": "hadoop"}, "hadoop is not possible here. Two writers can overwrite"),
            ({"catalog-impl": "org.apache.iceberg.nessie.NessieCatalog"}, "Nessie speaks REST as well"),
            ({"type": "snowflake"}, "Write rest, sql, glue, hive, dynamodb, bigquery"),
        ],
    )
    def test_of_catalogs_that_are_not_here(self, properties: dict[str, str], why: str) -> None:
        with pytest.raises(ConfigError, match=why):
            properties_for_pyiceberg(properties)

    def test_are_shown_without_secrets(self) -> None:
        assert shown_address({"uri": "postgresql://me:secret@h:5432/d?password=x"}) == "postgresql://h:5432/d"
        assert shown_address({"type": "glue"}) == "the glue catalog"


def errors(**config: str) -> dict[str, list[str]]:
    written = {key.replace("__", ".").replace("_", "-"): value for key, value in config.items()}
    defaults = {
        "name": "x",
        "iceberg.tables": "a.b",
        "iceberg.catalog.type": "rest",
        "iceberg.catalog.uri": "http://localhost",
    }
    values = IcebergSinkConnector().validate({**defaults, **written})
    return {each.name: [*each.errors, *each.warnings] for each in values if each.errors or each.warnings}


class TestChecks:
    def test_find_nothing_in_iceberg_s_own_examples(self) -> None:
        assert not errors(
            iceberg__catalog__credential="x", iceberg__catalog__warehouse="w", iceberg__control__topic="c"
        )
        assert not errors(
            iceberg__tables="default.events-list,default.events-create",
            iceberg__tables__route_field="type",
            iceberg__table__default__events_list__route_regex="list",
            iceberg__table__default__events_create__route_regex="create",
        )

    @pytest.mark.parametrize(
        ("config", "key", "why"),
        [
            ({"iceberg__tables": ""}, "iceberg.tables", "is required"),
            ({"iceberg__tables": "events"}, "iceberg.tables", "Write its namespace before it"),
            ({"iceberg__tables__dynamic_enabled": "true"}, "iceberg.tables.dynamic-enabled", "true excludes"),
            (
                {"iceberg__tables": "", "iceberg__tables__dynamic_enabled": "true"},
                "iceberg.tables.route-field",
                "is required by",
            ),
            ({"iceberg__tables__route_field": "t"}, "iceberg.tables", "a.b gets no record"),
            ({"iceberg__table__a__b__route_regex": "x"}, "iceberg.tables.route-field", "is required by"),
            ({"iceberg__table__a__b__route_regex": "("}, "iceberg.tables", "is not a regular expression"),
            ({"iceberg__table__a__b__rout_regex": "x"}, "iceberg.tables", "is not known. A table has route-regex"),
            ({"iceberg__table__a__c__id_columns": "x"}, "iceberg.tables", "does not name the table"),
            ({"iceberg__catalog__type": "hadoop"}, "iceberg.catalog.type", "not possible here"),
            ({"iceberg__catalog__type": "", "iceberg__catalog__uri": ""}, "iceberg.catalog.type", "is required, or"),
            ({"iceberg__catalog__uri": ""}, "iceberg.catalog.uri", "is required by a catalog of type rest"),
            ({"iceberg__catalog__type": "sql"}, "iceberg.catalog.warehouse", "is required by a catalog of type sql"),
            ({"iceberg__tables__upsert_mode_enabled": "true"}, "iceberg.tables.upsert-mode-enabled", "id-columns"),
            ({"iceberg__tables__cdc_field": "op"}, "iceberg.tables.cdc-field", "id-columns"),
            ({"iceberg__tables__default_id_columns": "id"}, "iceberg.tables.default-id-columns", "rows are appended"),
            ({"unavailable__value__placeholder": "-"}, "unavailable.value.placeholder", "has no effect without"),
            ({"iceberg__tables__default_partition_by": "week(at)"}, "iceberg.tables.default-partition-by", "not known"),
            (
                {"iceberg__tables__default_partition_by": "p,p"},
                "iceberg.tables.default-partition-by",
                '"p" makes a second',
            ),
            (
                {"iceberg__tables__default_partition_by": "day(p), days(p)"},
                "iceberg.tables.default-partition-by",
                'second partition field "p_day"',
            ),
            ({"iceberg__table__a__b__partition_by": "bucket(id)"}, "iceberg.tables", "needs a column and a number"),
            ({"iceberg__tables__write_props__write__format__default": "orc"}, "iceberg.tables", "files are of Parquet"),
        ],
    )
    def test_find_contradictions(self, config: dict[str, str], key: str, why: str) -> None:
        found = errors(**config)
        assert why in found[key][0]

    def test_spark_is_refused(self) -> None:
        with pytest.raises(ConfigError, match="IcebergSinkConnector runs on worker"):
            chosen_engine(IcebergSinkConnector, {"engine": "spark"}, {})
        assert chosen_engine(IcebergSinkConnector, {}, {"engine.default": "spark"}) == "worker"


def test_expressions() -> None:
    assert split_expressions("a, day(at) ,bucket(id, 16),,truncate( n ,2)") == (
        "a",
        "day(at)",
        "bucket(id, 16)",
        "truncate( n ,2)",
    )
    assert tuple(parse("Truncate( n ,02)")) == ("n", "truncate[2]", "n_trunc")
    assert tuple(parse("hours(in.at)")) == ("in.at", "hour", "in.at_hour")
    for wrong in ("bucket(id, 0)", "day(a, b)", "day()", "bucket(,3)", "a)", "bucket(id, ²)"):
        with pytest.raises(ValueError, match=r"Write|needs"):
            parse(wrong)


class TestErrors:
    @pytest.mark.parametrize(
        "error",
        [
            requests.exceptions.ConnectionError("refused"),
            requests.exceptions.ReadTimeout("read timed out"),
            ServerError("InternalServerError: x"),
            sqlalchemy.exc.OperationalError("select", {}, Exception("connection refused")),
            OSError("When reading: AWS Error NETWORK_CONNECTION during PutObject: curlCode: 7"),
            OSError(28, "No space left on device"),
        ],
    )
    def test_that_may_pass(self, error: Exception) -> None:
        assert isinstance(catalog_error(error, "http://c", "could not be opened"), RetriableError)
        assert isinstance(table_error(error, "a.b", "be written"), RetriableError)

    @pytest.mark.parametrize(
        "error",
        [
            UnauthorizedError("401"),
            ForbiddenError("403"),
            OAuthError("invalid_client"),
            OSError("AWS Error ACCESS_DENIED during PutObject"),
            PermissionError(13, "Permission denied"),
            sqlalchemy.exc.OperationalError("x", {}, Exception('password authentication failed for user "x"')),
        ],
    )
    def test_of_credentials(self, error: Exception) -> None:
        made = catalog_error(error, "http://c", "could not be opened")
        assert not isinstance(made, RetriableError)
        assert "access was denied" in str(made)
        assert "iceberg.catalog.credential" in str(made)

    def test_a_catalog_that_does_not_answer_is_one_that_may_pass(self) -> None:
        with pytest.raises(RetriableError, match=r"The Iceberg catalog http://127.0.0.1:1 could not be opened"):
            open_catalog("c", {"type": "rest", "uri": "http://127.0.0.1:1", "credential": "id:secret"})

    def test_two_tasks_may_open_a_new_database_at_the_same_time(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real, tries = SqlCatalog.create_tables, list[int]()

        def late(self: SqlCatalog) -> None:
            tries.append(1)
            real(self)
            if len(tries) == 1:
                self.close()
                raise sqlalchemy.exc.OperationalError("CREATE", {}, Exception("table iceberg_tables already exists"))

        monkeypatch.setattr(SqlCatalog, "create_tables", late)
        made = {"type": "sql", "uri": f"sqlite:///{tmp_path}/c.db", "warehouse": f"file://{tmp_path}"}
        open_catalog("c", made).close()
        assert tries

    def test_a_package_that_is_missing_is_named(self) -> None:
        made = catalog_error(ModuleNotFoundError("No module named 'thrift'"), "thrift://h", "could not be opened")
        assert "Install what it names" in str(made)

    def test_equality_deletes_are_explained(self) -> None:
        error = ValueError("PyIceberg does not yet support equality deletes: https://github.com/...")
        assert "Compact it by the engine that wrote them" in str(table_error(error, "a.b", "be merged into"))


def test_tables_are_listed(run: Run, keys: dict[str, str]) -> None:
    orders = run(more={"iceberg.tables": "shop.orders,shop.old.orders"})
    orders.put({"id": 1})
    orders.commit()
    assert IcebergSinkConnector().choices("iceberg.tables", keys) == ["shop.old.orders", "shop.orders"]


def test_without_the_package_it_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    found: Any = __import__("importlib.util", fromlist=["find_spec"])
    real = found.find_spec
    monkeypatch.setattr(found, "find_spec", lambda name, *more: None if name == "pyiceberg" else real(name, *more))
    with pytest.raises(ConnectError, match=r"Install connect-runtime\[iceberg\]"):
        run()


class Expiring(PyArrowFileIO):
    """Files that may be written within the hour in which this was made."""

    def __init__(self, properties: dict[str, str], clock: list[int]) -> None:
        super().__init__(properties)
        self._clock = clock
        self._hour = clock[0]

    def new_output(self, location: str) -> Any:
        if self._clock[0] > self._hour:
            raise PermissionError("ExpiredToken")
        return super().new_output(location)


def test_credentials_that_come_with_a_table_are_renewed(
    run: Run, rows: Callable[..., list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """REST catalogs give some for an hour."""
    clock = [0]
    load = SqlCatalog.load_table

    def loaded(catalog: SqlCatalog, identifier: Any) -> Any:
        table = load(catalog, identifier)
        table.io = Expiring(dict(table.io.properties), clock)
        return table

    monkeypatch.setattr(SqlCatalog, "load_table", loaded)
    orders = run()
    for n in range(3):
        orders.put({"id": n})
        orders.commit()
        clock[0] += 1
    assert rows() == [{"id": n} for n in range(3)]
