"""What the JDBC sink says of a configuration, before anything is connected to."""

import pytest

from connect import ConfigError
from connect.plugins.builtin import BUILT_IN
from connectors.jdbc.sink import JdbcSinkConnector, JdbcSinkTask
from connectors.jdbc.sink.keys import JdbcSinkOptions

URL = {"connection.url": "jdbc:postgresql://nobody.invalid/db"}


def errors(**config: str) -> dict[str, list[str]]:
    given = {**URL, **{key.replace("_", "."): value for key, value in config.items()}}
    return {value.name: value.errors for value in JdbcSinkConnector().validate(given) if value.errors}


def options(**config: str) -> JdbcSinkOptions:
    return JdbcSinkOptions.parse({**URL, **{key.replace("_", "."): value for key, value in config.items()}})


def test_a_url_is_enough() -> None:
    assert errors() == {}
    assert JdbcSinkConnector().validate({})[0].errors


@pytest.mark.parametrize(
    ("config", "key", "words"),
    [
        ({"delete_enabled": "true"}, "delete.enabled", "'record_key' when delete support is enabled"),
        ({"delete_enabled": "true", "pk_mode": "record_value"}, "delete.enabled", "record_key"),
        ({"insert_mode": "upsert"}, "insert.mode", "needs a primary key"),
        ({"insert_mode": "update"}, "insert.mode", "needs a primary key"),
        ({"insert_mode": "append"}, "insert.mode", "not one of insert, upsert, update"),
        ({"pk_mode": "kafka", "pk_fields": "a,b"}, "pk.fields", "three, and not 2"),
        ({"pk_fields": "a"}, "pk.fields", "pk.mode=none"),
        ({"pk_mode": "record_key", "pk_fields": "a,a"}, "pk.fields", "twice"),
        ({"topics_to_tables_mapping": "a"}, "topics.to.tables.mapping", "not a topic:table"),
        ({"table_name_format": "${nothing}"}, "table.name.format", "no variable"),
        (
            {"table_name_format": "${value}"},
            "table.name.format",
            "no variable ${value}. There are ${topic}, ${value.NAME}",
        ),
        ({"table_name_format": "x_${header.}"}, "table.name.format", "no variable"),
        ({"schema_evolution": "shrink"}, "schema.evolution", "shrink"),
        ({"connection_url": "jdbc:db2://host/db"}, "connection.url", "no translation"),
        ({"db_timezone": "Mars/Olympus"}, "db.timezone", "not a time zone"),
        ({"max_retries": "-1"}, "max.retries", "-1"),
    ],
)
def test_what_is_wrong_is_said_at_its_key(config: dict[str, str], key: str, words: str) -> None:
    found = errors(**config)
    assert list(found) == [key]
    assert words in found[key][0]


def test_a_password_in_a_url_is_not_shown() -> None:
    assert "hush" not in str(errors(connection_url="postgresql://user:hush@ho st:x/db"))


def test_debezium_s_keys_mean_ours() -> None:
    found = options(
        connector_class="io.debezium.connector.jdbc.JdbcSinkConnector",
        connection_username="me",
        primary_key_mode="record_key",
        primary_key_fields="a,b",
        schema_evolution="basic",
        collection_name_format="x_${topic}",
        flush_max_retries="3",
        flush_retry_delay_ms="7",
        field_include_list="t:a,b",
    )
    assert (found.pk_mode, found.pk_fields, found.table) == ("record_key", ("a", "b"), "x_${topic}")
    assert (found.create, found.policy.allowed, found.debezium) == (True, {"add"}, True)
    assert (found.max_retries, found.retry_backoff, found.folds) == (3, 0.007, True)
    assert found.included == {("t", "a"), (None, "b")}
    # Ours win.
    assert options(flush_max_retries="3", max_retries="4").max_retries == 4
    assert not options(connector_class="io.confluent.connect.jdbc.JdbcSinkConnector").debezium


@pytest.mark.parametrize(
    ("config", "allowed"),
    [
        ({}, set()),
        ({"auto_evolve": "true"}, {"add", "widen", "nullable"}),
        ({"auto_evolve": "true", "schema_evolution": "add"}, {"add"}),
        ({"schema_evolution": "widen,nullable"}, {"widen", "nullable"}),
        ({"schema_evolution": "full"}, {"add", "widen", "nullable"}),
    ],
)
def test_what_may_be_changed(config: dict[str, str], allowed: set[str]) -> None:
    assert options(**config).policy.allowed == allowed


def test_the_older_key_does_not_contradict_the_policy() -> None:
    assert "contradicts schema.evolution" in errors(auto_evolve="true", schema_evolution="none")["auto.evolve"][0]


@pytest.mark.parametrize(
    ("url", "evolution", "said"),
    [
        ("jdbc:sqlite:x", "full", ["nullable and widen cannot be carried out in sqlite: such a record does not fit."]),
        ("jdbc:sqlite:x", "add,widen", ["widen cannot be carried out in sqlite: such a record does not fit."]),
        ("jdbc:sqlite:x", "add", []),
        ("jdbc:mariadb://h/d", "full", []),
        ("jdbc:postgresql://h/d", "full", []),
    ],
)
def test_changes_that_a_database_cannot_carry_out_are_named(url: str, evolution: str, said: list[str]) -> None:
    given = {"connection.url": url, "schema.evolution": evolution}
    found = {value.name: value for value in JdbcSinkConnector().validate(given)}
    assert found["schema.evolution"].errors == []
    assert found["schema.evolution"].warnings == said


def test_the_task_refuses_what_validation_refuses() -> None:
    with pytest.raises(ConfigError, match="delete support"):
        JdbcSinkTask().start({**URL, "delete.enabled": "true"})


@pytest.mark.parametrize(
    "name",
    [
        "io.confluent.connect.jdbc.JdbcSinkConnector",
        "io.aiven.connect.jdbc.JdbcSinkConnector",
        "io.debezium.connector.jdbc.JdbcSinkConnector",
        "JdbcSinkConnector",
        "JdbcSink",
    ],
)
def test_it_is_found_by_all_its_names(name: str) -> None:
    (ref,) = [ref for ref in BUILT_IN if name == ref.name or name in ref.aliases]
    assert ref.target == "connectors.jdbc.sink:JdbcSinkConnector"


def test_every_task_has_the_whole_configuration() -> None:
    connector = JdbcSinkConnector()
    connector.start({**URL, "tasks.max": "3"})
    assert connector.task_configs(3) == [connector.config] * 3
