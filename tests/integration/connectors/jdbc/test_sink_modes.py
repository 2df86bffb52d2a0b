"""What the JDBC sink writes: every mode of inserting with every mode of keys, on real databases."""

from decimal import Decimal

import pytest

from connect import ConnectError, Header, Headers, Schema, SinkRecord, Type
from connect.testing import SinkRun
from connectors.jdbc.sink import JdbcSinkConnector
from tests.integration.connectors.jdbc.sink_fixtures import target
from tests.integration.connectors.jdbc.sink_targets import Postgres, Target, gone, person
from tests.servers.postgresql import PostgresDatabase

__all__ = ["target"]

KEYS = {
    "kafka": {"pk.mode": "kafka"},
    "record_key": {"pk.mode": "record_key"},
    "record_value": {"pk.mode": "record_value", "pk.fields": "id"},
    "record_header": {"pk.mode": "record_header", "pk.fields": "id"},
}


def run(target: Target, **more: str) -> SinkRun:
    keys = {name.replace("_", "."): value for name, value in more.items()}
    return SinkRun(JdbcSinkConnector, {"topics": "people", **target.config, "auto.create": "true", **keys}, timeout=60)


def with_header(record: SinkRecord) -> SinkRecord:
    return record.replace(headers=Headers([Header("id", record.value["id"], Schema(Type.INT32))]))


@pytest.mark.quick
def test_without_a_key_every_record_is_a_row(target: Target) -> None:
    with run(target) as sink:
        sink.put(person(1, "Ada", Decimal("1.50")), person(1, None), person(2, ""))
        sink.commit()
    rows = target.execute("SELECT id, name, balance FROM people ORDER BY id, name")
    assert sorted((number, name) for number, name, _ in rows if name is not None) == [(1, "Ada"), (2, "")]
    assert len(rows) == 3
    assert Decimal(str(next(balance for *_, balance in rows if balance is not None))) == Decimal("1.50")


@pytest.mark.parametrize("mode", KEYS)
@pytest.mark.parametrize("insert", ["insert", "upsert", "update"])
def test_every_mode_with_every_key(target: Target, insert: str, mode: str) -> None:
    target.execute("CREATE TABLE people (id integer NOT NULL, name varchar(50), balance decimal(10, 2))")
    coordinates = ["__connect_topic", "__connect_partition", "__connect_offset"]
    if mode == "kafka":
        for name, kind in zip(coordinates, ("varchar(50)", "integer", "bigint"), strict=True):
            target.execute(f"ALTER TABLE people ADD COLUMN {name} {kind}")
        target.execute(f"CREATE UNIQUE INDEX key_of_people ON people ({', '.join(coordinates)})")
        target.execute("INSERT INTO people VALUES (1, 'old', 1, 'people', 0, 0)")
    else:
        target.execute("CREATE UNIQUE INDEX key_of_people ON people (id)")
        target.execute("INSERT INTO people VALUES (1, 'old', 1)")
    records = [person(2, "Bob"), person(3, "Eve"), person(4, "Joe")]
    if insert != "insert":
        records = [person(1, "Ada"), person(2, "Bob"), person(2, "Bill"), person(3, "Eve")]
    if mode == "kafka" and insert == "insert":
        target.execute("DELETE FROM people")
        target.execute("INSERT INTO people VALUES (1, 'old', 1, 'people', 7, 0)")
    with run(
        target, insert_mode=insert, auto_create="false", **{k.replace(".", "_"): v for k, v in KEYS[mode].items()}
    ) as sink:
        sink.put(*map(with_header, records))
        sink.put(*map(with_header, [person(9, "Zoe")]))
    rows = target.execute("SELECT id, name FROM people ORDER BY id, name")
    by_coordinates = {
        "insert": [(1, "old"), (2, "Bob"), (3, "Eve"), (4, "Joe"), (9, "Zoe")],
        "upsert": [(1, "Ada"), (2, "Bill"), (2, "Bob"), (3, "Eve"), (9, "Zoe")],
        "update": [(1, "Ada")],
    }
    by_id = {**by_coordinates, "upsert": [(1, "Ada"), (2, "Bill"), (3, "Eve"), (9, "Zoe")]}
    assert rows == (by_coordinates if mode == "kafka" else by_id)[insert]


@pytest.mark.quick
def test_an_upsert_leaves_columns_alone_that_records_do_not_have(target: Target) -> None:
    target.execute("CREATE TABLE people (id integer PRIMARY KEY, name varchar(50), remark varchar(50))")
    target.execute("INSERT INTO people VALUES (1, 'old', 'kept')")
    short = Schema.struct({"id": Schema(Type.INT32), "name": Schema(Type.STRING, optional=True)})
    with run(target, insert_mode="upsert", pk_mode="record_value", pk_fields="id") as sink:
        sink.put(SinkRecord("people", {"id": 1, "name": "new"}, short))
    assert target.execute("SELECT * FROM people") == [(1, "new", "kept")]


def test_rows_of_one_key_with_different_fields_all_count_in_their_order(target: Target) -> None:
    target.execute("CREATE TABLE people (id integer PRIMARY KEY, name varchar(50), remark varchar(50))")
    named = Schema.struct({"id": Schema(Type.INT32), "name": Schema(Type.STRING)})
    remarked = Schema.struct({"id": Schema(Type.INT32), "remark": Schema(Type.STRING)})
    with run(target, insert_mode="upsert", pk_mode="record_value", pk_fields="id") as sink:
        sink.put(
            SinkRecord("people", {"id": 1, "name": "a"}, named),
            SinkRecord("people", {"id": 1, "remark": "b"}, remarked),
            SinkRecord("people", {"id": 2, "remark": "c"}, remarked),
            SinkRecord("people", {"id": 1, "name": "d"}, named),
            SinkRecord("people", {"id": 2, "name": "e"}, named),
        )
    assert target.execute("SELECT * FROM people ORDER BY id") == [(1, "d", "b"), (2, "e", "c")]


@pytest.mark.parametrize("insert", ["insert", "upsert"])
def test_the_last_word_on_a_key_wins_deletions_among_it(target: Target, insert: str) -> None:
    with run(target, insert_mode=insert, pk_mode="record_key", delete_enabled="true") as sink:
        sink.put(person(1), person(2), person(3))
        sink.put(gone(1), person(4), gone(4), gone(2), person(2, "again"), gone(5), person(6))
        sink.commit()
    assert target.execute("SELECT id, name FROM people ORDER BY id") == [(2, "again"), (3, "Ada"), (6, "Ada")]
    assert sink.metric("jdbc_rows_deleted_total") == 4


def test_a_row_that_comes_back_has_nothing_of_the_one_that_was_deleted(target: Target) -> None:
    target.execute(
        "CREATE TABLE people (id integer PRIMARY KEY, name varchar(50), balance decimal(5), remark varchar(9))"
    )
    target.execute("INSERT INTO people VALUES (1, 'old', 1, 'old')")
    with run(target, insert_mode="upsert", pk_mode="record_key", delete_enabled="true") as sink:
        sink.put(gone(1), person(1, "new"))
    assert target.execute("SELECT * FROM people") == [(1, "new", None, None)]


def test_a_plain_key_has_the_name_of_pk_fields(target: Target) -> None:
    value = Schema.struct({"name": Schema(Type.STRING)})
    with run(target, insert_mode="upsert", pk_mode="record_key", pk_fields="code", delete_enabled="true") as sink:
        for key, name in [("a", "x"), ("A", "y"), ("b", "z")]:
            sink.put(SinkRecord("people", {"name": name}, value, key, Schema(Type.STRING)))
        sink.put(SinkRecord("people", None, None, "b", Schema(Type.STRING)))
    # Keys are compared by their bytes, as they are in Kafka.
    assert sorted(target.execute("SELECT code, name FROM people")) == [("A", "y"), ("a", "x")]


@pytest.mark.parametrize("count", [1, 200], ids=["inserted", "loaded"])
@pytest.mark.parametrize("target", ["mariadb"], indirect=True)
def test_of_keys_that_a_collation_takes_for_one_the_last_record_counts(target: Target, count: int) -> None:
    target.execute("CREATE TABLE people (code varchar(9) CHARACTER SET utf8mb4 PRIMARY KEY, name varchar(9))")
    value = Schema.struct({"name": Schema(Type.STRING)})
    written = [(f"{key}{n}", name) for key, name in (("é", "x"), ("E", "y"), ("e", "z")) for n in range(count)]
    with run(target, insert_mode="upsert", pk_mode="record_key", pk_fields="code", delete_enabled="true") as sink:
        sink.put(*(SinkRecord("people", {"name": name}, value, key, Schema(Type.STRING)) for key, name in written))
        sink.put(
            SinkRecord("people", {"name": "new"}, value, "a", Schema(Type.STRING)),
            SinkRecord("people", None, None, "A", Schema(Type.STRING)),
        )
        sink.commit()
    assert [name for (name,) in target.execute("SELECT name FROM people")] == ["z"] * count


def test_of_keys_that_citext_takes_for_one_the_last_record_counts(postgres_database: PostgresDatabase) -> None:
    target = Postgres(postgres_database)
    if not target.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'citext'"):
        pytest.skip("this PostgreSQL has no citext")
    target.execute("CREATE EXTENSION citext")
    target.execute("CREATE TABLE people (code citext PRIMARY KEY, name text)")
    value = Schema.struct({"name": Schema(Type.STRING)})

    def record(key: str, name: str | None) -> SinkRecord:
        said = None if name is None else {"name": name}
        return SinkRecord("people", said, None if name is None else value, key, Schema(Type.STRING))

    with run(target, insert_mode="upsert", pk_mode="record_key", pk_fields="code", delete_enabled="true") as sink:
        sink.put(record("A", "x"), record("a", None))
        sink.put(record("B", "x"), record("b", None), record("B", "new"))
        sink.put(record("e", "x"), record("E", "y"))
    assert target.execute("SELECT code::text, name FROM people ORDER BY 1") == [("B", "new"), ("e", "y")]


def test_values_of_no_struct_go_into_one_column(target: Target) -> None:
    with run(target, string_output_value_column_name="line") as sink:
        sink.put("one", "two", schema=Schema(Type.STRING), topic="people")
    assert sorted(target.execute("SELECT line FROM people")) == [("one",), ("two",)]


def test_fields_are_chosen_by_lists(target: Target) -> None:
    with run(
        target, pk_mode="record_key", fields_whitelist="name,other:balance", table_name_format="kafka_${topic}"
    ) as sink:
        sink.put(person(1, "Ada", Decimal("1.00")))
    assert target.execute("SELECT * FROM kafka_people") == [(1, "Ada")]


@pytest.mark.parametrize("first", ["people", "others"])
def test_topics_of_one_table_keep_their_own_lists_of_fields(target: Target, first: str) -> None:
    second = "others" if first == "people" else "people"
    with run(target, topics="people,others", table_name_format="everybody", fields_blacklist="people:name") as sink:
        sink.put(person(1, "Ada", topic=first), person(2, "Bob", topic=second), person(3, "Eve", topic=first))
        sink.commit()
    names = dict(target.execute("SELECT id, name FROM everybody"))
    assert names == ({1: None, 2: "Bob", 3: None} if first == "people" else {1: "Ada", 2: None, 3: "Eve"})


def test_records_choose_their_tables(target: Target) -> None:
    with run(
        target,
        topics="people,other",
        table_name_format="${topic}_${value.name}",
        topics_to_tables_mapping="other:elsewhere",
    ) as sink:
        sink.put(person(1, "a"), person(2, "b"), person(3, "a"), person(4, "c", topic="other"))
    assert sorted(target.execute("SELECT id FROM people_a")) == [(1,), (3,)]
    assert target.execute("SELECT id FROM people_b") == [(2,)]
    assert target.execute("SELECT id FROM elsewhere") == [(4,)]


def test_a_record_cannot_lead_into_another_schema(target: Target) -> None:
    with (
        pytest.raises(ConnectError, match="does not say its table"),
        run(target, table_name_format="${value.name}") as sink,
    ):
        sink.put(person(1, "other.people"))


def test_names_are_quoted(target: Target) -> None:
    odd = 'we"ird`s 100% [x]'
    schema = Schema.struct({odd: Schema(Type.INT32), "Select": Schema(Type.STRING)})
    key = Schema.struct({"The Key": Schema(Type.INT32)})
    with run(
        target, insert_mode="upsert", pk_mode="record_key", table_name_format="Order", delete_enabled="true"
    ) as sink:
        sink.put(SinkRecord("people", {odd: 1, "Select": "50%"}, schema, {"The Key": 7}, key))
        sink.put(SinkRecord("people", {odd: 2, "Select": "51%"}, schema, {"The Key": 7}, key))
        sink.put(SinkRecord("people", {odd: 3, "Select": "52%"}, schema, {"The Key": 8}, key))
        sink.put(SinkRecord("people", None, None, {"The Key": 8}, key))
    assert target.execute('SELECT * FROM "Order"') == [(7, 2, "51%")]


def test_schemaless_records_are_written_when_that_is_allowed(target: Target) -> None:
    with run(
        target,
        schemaless_inference="true",
        auto_evolve="true",
        insert_mode="upsert",
        pk_mode="record_key",
        pk_fields="id",
    ) as sink:
        sink.put(SinkRecord("people", {"name": "Ada", "tags": {"a": 1}}, key=1))
        sink.put(
            SinkRecord("people", {"name": "Bob", "height": 1.5, "at": None}, key=2),
            SinkRecord("people", {"name": "Eve"}, key=3),
        )
    rows = target.execute("SELECT id, name, height FROM people ORDER BY id")
    assert rows == [(1, "Ada", None), (2, "Bob", 1.5), (3, "Eve", None)]
    with pytest.raises(ConnectError, match="requires a schema"), run(target) as sink:
        sink.put(SinkRecord("people", {"name": "Ada"}))


def test_many_records_at_once_are_written_behind_put_and_committed_after_it(target: Target) -> None:
    with run(target, insert_mode="upsert", pk_mode="record_key") as sink:
        for part in range(6):
            sink.put(*(person(number, f"of {part}") for number in range(part * 400, part * 400 + 1000)))
        sink.commit()
        assert target.execute("SELECT count(*), min(id), max(id) FROM people") == [(3000, 0, 2999)]
        assert sink.committed[next(iter(sink.committed))] == 6000
    assert sink.metric("jdbc_rows_written_total") == 6000


def test_names_that_are_not_quoted_are_folded_by_the_database(target: Target) -> None:
    value = Schema.struct({"Id": Schema(Type.INT32), "FullName": Schema(Type.STRING)})
    keys = {"insert_mode": "upsert", "pk_mode": "record_value", "pk_fields": "Id", "quote_sql_identifiers": "never"}
    with run(target, table_name_format="MyPeople", **keys) as sink:
        sink.put({"Id": 1, "FullName": "a"}, schema=value, topic="people")
        sink.put({"Id": 1, "FullName": "b"}, {"Id": 2, "FullName": "c"}, schema=value, topic="people")
    table = "mypeople" if target.kind == "postgresql" else "MyPeople"
    assert target.execute(f'SELECT id, fullname FROM "{table}" ORDER BY id') == [(1, "b"), (2, "c")]
