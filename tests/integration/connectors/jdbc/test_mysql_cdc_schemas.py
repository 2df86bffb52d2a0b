"""Tables of a real MariaDB that change while they are captured: each row has the columns that it was written with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from connect import ConnectError
from tests.servers.mariadb import MariaServer

from .captured import fields, ids
from .mysql_captured import CapturedMaria, CutOnce

METADATA = ("NO_LOG", "MINIMAL", "FULL")

#: Statements with a row after each, and the columns that this row has.
STEPS: list[tuple[str, str, list[str]]] = [
    ("SELECT 1", "(1, 'a')", ["id", "word"]),
    ("ALTER TABLE line ADD COLUMN price decimal(6,2) NOT NULL DEFAULT 1.5", "(2, 'b', 2.25)", ["id", "word", "price"]),
    (
        "ALTER TABLE line ADD COLUMN first int FIRST, ADD day date AFTER word",
        "(1, 3, 'c', '2024-02-29', 3)",
        ["first", "id", "word", "day", "price"],
    ),
    ("ALTER TABLE line DROP COLUMN first, DROP day", "(4, 'd', 4)", ["id", "word", "price"]),
    ("ALTER TABLE line RENAME COLUMN word TO text", "(5, 'e', 5)", ["id", "text", "price"]),
    ("ALTER TABLE line CHANGE text word varchar(30) AFTER price", "(6, 6, 'f')", ["id", "price", "word"]),
    ("ALTER TABLE line MODIFY COLUMN price bigint unsigned NULL FIRST", "(7, 7, 'g')", ["price", "id", "word"]),
    (
        "ALTER TABLE line ADD (e enum('x','y'), s set('p','q'))",
        "(8, 8, 'h', 'y', 'p,q')",
        ["price", "id", "word", "e", "s"],
    ),
    ("ALTER TABLE line DROP COLUMN e, DROP COLUMN s, DROP COLUMN price", "(9, 'i')", ["id", "word"]),
    ("ALTER TABLE line CONVERT TO CHARACTER SET latin1", "(10, 'ö')", ["id", "word"]),
    ("CREATE OR REPLACE TABLE line (name char(3), id int, KEY (name), PRIMARY KEY (id))", "('j', 11)", ["name", "id"]),
    ("DROP TABLE line", "", []),
    ("CREATE TABLE IF NOT EXISTS line (id int PRIMARY KEY) CHARSET utf8mb4", "(12)", ["id"]),
    ("CREATE TABLE IF NOT EXISTS line (id int PRIMARY KEY, more int)", "(13)", ["id"]),
    ("CREATE TABLE other LIKE line", "", []),
    ("ALTER TABLE other ADD COLUMN word text", "", []),
    ("RENAME TABLE line TO third, other TO line", "(14, 'k')", ["id", "word"]),
    ("ALTER TABLE third RENAME TO fourth", "(15, 'l')", ["id", "word"]),
    ("ALTER TABLE line COMMENT 'a, b' /*M!100000 , ADD INDEX (word(3)) */", "(16, 'm')", ["id", "word"]),
    ("CREATE OR REPLACE TABLE line AS SELECT 17 AS id, 'n' AS word", "", []),
    ("TRUNCATE TABLE line", "(18, 'o')", ["id", "word"]),
]


@pytest.fixture
def captured(captured_mariadb: CapturedMaria, mariadb: MariaServer) -> Iterator[CapturedMaria]:
    yield captured_mariadb
    mariadb.execute("SET GLOBAL binlog_row_metadata = NO_LOG")


@pytest.fixture(params=METADATA)
def any_log(request: pytest.FixtureRequest, captured: CapturedMaria) -> CapturedMaria:
    """Whatever the log says of columns."""
    captured.execute(f"SET GLOBAL binlog_row_metadata = {request.param}")
    captured.execute("CREATE TABLE line (id int PRIMARY KEY, word varchar(20)) CHARSET utf8mb4")
    return captured


@pytest.mark.parametrize("late", [False, True], ids=["as it happens", "all of it later"])
def test_rows_have_the_columns_of_their_time(any_log: CapturedMaria, late: bool) -> None:
    run = any_log.run(snapshot_mode="no_data").start()
    run.poll()
    wanted = []
    for sql, row, names in STEPS:
        any_log.execute(sql)
        if row:
            any_log.execute(f"INSERT INTO line VALUES {row}")
            wanted.append(names)
        if row and not late:
            count = len(wanted)
            any_log.until(run, lambda count=count: len(ids(run.records)) >= count)
    any_log.until(run, lambda: 18 in ids(run.records))
    found = [(r.value["after"]["id"], fields(r)) for r in run.records if r.value["after"]["id"] != 17]
    assert [names for _, names in found] == wanted
    by_id = {r.value["after"]["id"]: r for r in run.records}
    assert str(by_id[2].value["after"]["price"]) == "2.25"
    assert by_id[8].value["after"] == {"price": 8, "id": 8, "word": "h", "e": "y", "s": "p,q"}
    assert by_id[10].value["after"]["word"] == "ö"
    assert by_id[11].key == {"id": 11}
    assert by_id[18].value["after"] == {"id": 18, "word": "o"}


@pytest.mark.parametrize("swap", ["RENAME COLUMN a TO b, RENAME COLUMN b TO a", "CHANGE a b int, CHANGE b a int"])
def test_columns_that_swap_their_names_keep_their_values(captured: CapturedMaria, swap: str) -> None:
    captured.execute("CREATE TABLE line (id int PRIMARY KEY, a int, b int)")
    run = captured.run(snapshot_mode="no_data").start()
    run.poll()
    captured.execute("INSERT INTO line VALUES (1, 10, 20)", f"ALTER TABLE line {swap}")
    captured.execute("INSERT INTO line (id, a, b) VALUES (2, 10, 20)")
    captured.until(run, lambda: 2 in ids(run.records))
    assert [r.value["after"] for r in run.records] == [{"id": 1, "a": 10, "b": 20}, {"id": 2, "b": 20, "a": 10}]


def test_a_change_with_variables_of_its_own_is_followed(captured: CapturedMaria) -> None:
    captured.execute("CREATE TABLE line (id int PRIMARY KEY, word text)")
    run = captured.run(snapshot_mode="no_data").start()
    run.poll()
    captured.execute("INSERT INTO line VALUES (1, 'a')")
    run.poll_until(1)
    captured.execute("SET STATEMENT lock_wait_timeout = 5 FOR ALTER TABLE line ADD size int FIRST")
    captured.execute("INSERT INTO line VALUES (3, 2, 'b')")
    run.poll_until(2)
    assert run.records[-1].value["after"] == {"size": 3, "id": 2, "word": "b"}


@pytest.mark.parametrize("metadata", METADATA)
def test_rows_that_are_read_again_have_the_columns_of_their_time(
    captured: CapturedMaria, metadata: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection breaks behind a change of the table, and what was read before is not handed out yet."""
    captured.execute(f"SET GLOBAL binlog_row_metadata = {metadata}")
    captured.execute("CREATE TABLE line (id int PRIMARY KEY, word text)")
    run = captured.run(snapshot_mode="no_data").start()
    run.poll()
    captured.execute("INSERT INTO line VALUES (1, 'a')", "ALTER TABLE line RENAME COLUMN word TO text")
    captured.execute("INSERT INTO line VALUES (2, 'b')")
    cut = CutOnce(monkeypatch)
    captured.until(run, lambda: 2 in ids(run.records))
    assert cut.received > 3
    assert [(r.value["after"]["id"], fields(r)) for r in run.records] == [(1, ["id", "word"]), (2, ["id", "text"])]


def test_a_task_that_was_away_reads_old_rows_of_a_log_with_all_metadata(captured: CapturedMaria) -> None:
    captured.execute("SET GLOBAL binlog_row_metadata = FULL")
    _change_while_away(captured)
    run = captured._runs[0]
    captured.until(run, lambda: 4 in ids(run.records))
    assert [(r.value["after"]["id"], fields(r)) for r in run.records] == [
        (1, ["id", "word", "mood"]),
        (2, ["id", "word", "mood"]),
        (3, ["id", "mood", "price"]),
        (4, ["id", "mood", "cost"]),
    ]
    assert run.records[1].value["after"] == {"id": 2, "word": "zwei ö", "mood": "ok"}
    assert [r.key for r in run.records] == [{"id": number} for number in (1, 2, 3, 4)]
    types = run.records[1].value_schema.field("after").schema  # type: ignore[union-attr]
    assert types.field("mood").schema.parameters == {"allowed": "sad,ok"}


@pytest.mark.parametrize("metadata", METADATA[:2])
def test_a_task_that_was_away_does_not_guess(captured: CapturedMaria, metadata: str) -> None:
    captured.execute(f"SET GLOBAL binlog_row_metadata = {metadata}")
    _change_while_away(captured)
    run = captured._runs[0]
    with pytest.raises(ConnectError, match=r"line was changed after these rows.*binlog_row_metadata=FULL"):
        captured.until(run, lambda: 4 in ids(run.records))
    assert ids(run.records) == [1]


@pytest.mark.parametrize("metadata", METADATA)
def test_a_table_that_is_there_is_not_created_again(captured: CapturedMaria, metadata: str) -> None:
    """MySQL logs such a statement all the same; MariaDB does not, unless the table is made without its knowledge."""
    captured.execute(f"SET GLOBAL binlog_row_metadata = {metadata}")
    captured.execute("CREATE TABLE other (id int PRIMARY KEY)")
    run = captured.run(snapshot_mode="no_data").start()
    run.poll()
    captured.execute(
        *("SET timestamp = UNIX_TIMESTAMP() + 60", "CREATE TABLE IF NOT EXISTS line (id int PRIMARY KEY, word text)"),
        *("SET sql_log_bin = 0", "DROP TABLE line", "CREATE TABLE line (id int PRIMARY KEY, name text, size int)"),
        *("SET sql_log_bin = 1", "INSERT INTO line VALUES (2, 'b', 3)"),
    )
    captured.until(run, lambda: 2 in ids(run.records))
    assert run.records[-1].value["after"] == {"id": 2, "name": "b", "size": 3}


def _change_while_away(captured: CapturedMaria) -> None:
    """A row that is read; then one by one while the task is away rows and changes of the table."""
    captured.execute(
        "CREATE TABLE line (id int unsigned PRIMARY KEY, word varchar(20) CHARACTER SET latin1, mood enum('sad', 'ok'))"
    )
    run = captured.run(snapshot_mode="no_data").start()
    run.poll()
    captured.execute("INSERT INTO line VALUES (1, 'one', 'sad')")
    run.poll_until(1)
    run.stop()
    captured.execute("INSERT INTO line VALUES (2, 'zwei ö', 'ok')", "DO SLEEP(1.1)")
    captured.execute("ALTER TABLE line DROP COLUMN word, ADD COLUMN price int")
    captured.execute("INSERT INTO line VALUES (3, 'ok', 3)", "DO SLEEP(1.1)")
    captured.execute("ALTER TABLE line RENAME COLUMN price TO cost")
    captured.execute("INSERT INTO line VALUES (4, 'ok', 4)")
    run.restart()


#: A column's type, and values of it.
TYPES: list[tuple[str, list[str]]] = [
    (
        "uuid",
        [
            "'6b1a2c3d-0000-4000-8000-000000000001'",
            "'018e2e2e-7d2a-7c1c-9b1f-2f3a4b5c6d7e'",
            "'f47ac10b-58cc-11e4-8f3a-0123456789ab'",
        ],
    ),
    ("inet6", ["'::1'", "'2001:db8::ff00:42:8329'", "'::ffff:192.0.2.1'", "'::'"]),
    ("inet4", ["'192.0.2.1'", "'0.0.0.0'", "'255.255.255.255'"]),
    ("varchar(2000) COMPRESSED", ["repeat('x', 1500)", "'short'", "''", "NULL"]),
    ("blob COMPRESSED", ["repeat('y', 5000)", "'z'", "''"]),
    ("text CHARACTER SET utf16", ["'größe 😀'", "''"]),
    ("char(10) CHARACTER SET sjis", ["'日本'"]),
    ("char(255) CHARACTER SET utf8mb4", ["'ü'", "repeat('😀', 255)"]),
    ("binary(255)", ["'a'", "''"]),
    ("varchar(300) CHARACTER SET cp1251", ["'мир'"]),
    ("time(1)", ["'-00:00:00.9'", "'-838:59:59'", "'00:00:00.1'"]),
    ("time(2)", ["'-00:00:01.99'", "'01:02:03.04'"]),
    ("time(4)", ["'-00:00:00.0001'", "'-01:00:00'", "'23:59:59.9999'"]),
    ("time(5)", ["'-00:00:00.00001'", "'838:59:58.99999'"]),
    ("datetime(2)", ["'2024-02-29 01:02:03.04'", "'1969-12-31 23:59:59.99'"]),
    ("datetime(5)", ["'2024-02-29 01:02:03.00004'"]),
    ("timestamp(1) NULL", ["'2024-02-29 01:02:03.4'", "'1970-01-01 00:00:01'"]),
    ("timestamp(5) NULL", ["'2024-02-29 01:02:03.00004'"]),
    ("year", ["1901", "2155", "0"]),
    ("decimal(65,30)", ["-12345678901234567890123456789012345.1", "0.000000000000000000000000000001", "-0.5"]),
    ("decimal(9,9)", ["-0.123456789", "0.000000001"]),
    ("decimal(10,0)", ["-9999999999", "1", "0"]),
    ("decimal(20,1)", ["-1234567890123456789.9", "-0.1"]),
    ("float", ["0.1", "-3.402823e38", "1.17549e-38", "16777217"]),
    ("float(10,4)", ["1234.5678"]),
    ("double(20,10)", ["1234.5678901234"]),
    ("bit(1)", ["b'0'", "b'1'"]),
    ("bit(9)", ["b'100000001'"]),
    ("tinyint unsigned", ["255", "0"]),
    ("mediumint unsigned", ["16777215"]),
    ("mediumint", ["-8388608", "8388607"]),
    ("set(" + ",".join(f"'m{n}'" for n in range(40)) + ")", ["'m0,m39'", "''"]),
    ("enum(" + ",".join(f"'m{n}'" for n in range(300)) + ")", ["'m299'", "'m0'"]),
    ("multipoint", ["ST_GeomFromText('MULTIPOINT(1 1,2 2)')"]),
    ("date", ["'1000-01-01'", "'9999-12-31'", "'0099-05-06'"]),
    ("json", ['\'{"a": [1, "x"]}\'']),
    ("int GENERATED ALWAYS AS (id * 2) STORED", ["DEFAULT"]),
    ("int AS (id * 3) VIRTUAL", ["DEFAULT"]),
    ("int INVISIBLE DEFAULT 5", ["7"]),
]


@pytest.mark.parametrize("metadata", METADATA)
def test_the_stream_reads_a_value_as_the_snapshot_does(captured: CapturedMaria, metadata: str) -> None:
    captured.execute(f"SET GLOBAL binlog_row_metadata = {metadata}")
    columns = ", ".join(f"c{number} {written}" for number, (written, _) in enumerate(TYPES))
    names = ", ".join(f"c{number}" for number in range(len(TYPES)))
    captured.execute(f"CREATE TABLE kinds (id int PRIMARY KEY, {columns}) CHARSET utf8mb4")
    streaming = captured.run(snapshot_mode="no_data").start()
    streaming.poll()
    rows = max(len(values) for _, values in TYPES)
    for row in range(rows):
        values = ", ".join(values[row % len(values)] for _, values in TYPES)
        captured.execute(f"INSERT INTO kinds (id, {names}) VALUES ({row}, {values})")
    streamed = streaming.poll_until(rows)
    # Definitions that come from the log alone must do as well.
    late = CapturedMaria(captured.database)
    try:
        snapshot = late.run().start().poll_until(rows)
        for one, other in zip(streamed, snapshot, strict=True):
            differences = {
                TYPES[int(name[1:])][0]: (value, other.value["after"][name])
                for name, value in one.value["after"].items()
                if name != "id" and value != other.value["after"][name]
            }
            assert not differences
            assert _plain(one.value_schema) == _plain(other.value_schema)
    finally:
        late.close()


@pytest.mark.parametrize(
    "written", ["text(65535)", "text(50)", "blob(100)", "blob(300000)", "text byte", "char(3) byte"]
)
def test_a_column_is_what_the_server_makes_of_its_type(captured: CapturedMaria, written: str) -> None:
    captured.execute("CREATE TABLE line (id int PRIMARY KEY)")
    run = captured.run(snapshot_mode="no_data").start()
    run.poll()
    captured.execute("INSERT INTO line VALUES (1)")
    run.poll_until(1)
    captured.execute(f"ALTER TABLE line ADD word {written}", "INSERT INTO line VALUES (2, 'a')")
    *_, streamed = run.poll_until(2)
    *_, read = captured.run(topic_prefix="read").start().poll_until(2)
    assert streamed.value["after"] == read.value["after"]
    assert _plain(streamed.value_schema) == _plain(read.value_schema)


def _plain(schema: Any) -> list[tuple[str, Any]]:
    return [(field.name, field.schema) for field in schema.field("after").schema.fields]


@pytest.mark.parametrize("metadata", METADATA)
def test_the_key_of_a_table_without_a_primary_key_is_the_same_after_a_restart(
    captured: CapturedMaria, metadata: str
) -> None:
    """A unique index is its key, whatever statement made it: the stream follows, a task that starts looks it up."""
    captured.execute(f"SET GLOBAL binlog_row_metadata = {metadata}")
    captured.execute("CREATE TABLE line (id int NOT NULL, code int NOT NULL, word varchar(9) NOT NULL)")
    run = captured.run(snapshot_mode="no_data").start()
    run.poll()
    steps: list[tuple[str, list[str]]] = [
        ("SELECT 1", []),
        ("CREATE UNIQUE INDEX p ON line (word(3))", ["word"]),
        ("DROP INDEX p ON line", []),
        ("CREATE OR REPLACE UNIQUE INDEX z USING BTREE ON line (id) NOWAIT COMMENT 'a, b'", ["id"]),
        ("CREATE UNIQUE INDEX IF NOT EXISTS a ON line (code, id)", ["id"]),
        ("CREATE UNIQUE INDEX IF NOT EXISTS a ON line (code)", ["id"]),
        ("DROP INDEX Z ON line", ["code", "id"]),
        ("CREATE OR REPLACE UNIQUE INDEX A ON line (code)", ["code"]),
        ("DROP INDEX IF EXISTS a ON line WAIT 5", []),
        ("ALTER TABLE line ADD PRIMARY KEY (id)", ["id"]),
        ("DROP INDEX `PRIMARY` ON line", []),
    ]
    found = []
    for count, (statement, _) in enumerate(steps, 1):
        captured.execute(statement, f"INSERT INTO line VALUES ({count}, {count}, '{count}word')")
        streamed = run.poll_until(count)[-1]
        started = captured.run(topic_prefix=f"at{count}").start()
        read = started.poll_until(count)[-1]
        started.stop()
        found.append((statement, *(list(record.key or ()) for record in (streamed, read))))
    assert found == [(statement, names, names) for statement, names in steps]


@pytest.mark.parametrize("metadata", METADATA)
def test_a_sequence_is_no_table(captured: CapturedMaria, metadata: str) -> None:
    captured.execute(f"SET GLOBAL binlog_row_metadata = {metadata}")
    captured.execute("CREATE TABLE line (id int PRIMARY KEY)", "CREATE SEQUENCE number START 5")
    run = captured.run(snapshot_mode="no_data").start()
    run.poll()
    captured.execute("INSERT INTO line VALUES (NEXTVAL(number))", "CREATE SEQUENCE other", "SELECT NEXTVAL(other)")
    captured.execute("INSERT INTO line VALUES (6)")
    captured.until(run, lambda: 6 in ids(run.records))
    assert [(record.topic.rpartition(".")[2], record.key) for record in run.records] == [
        *(("line", {"id": 5}), ("line", {"id": 6}))
    ]


@pytest.mark.parametrize("metadata", METADATA)
def test_old_versions_of_rows_are_not_taken_for_new_ones(captured: CapturedMaria, metadata: str) -> None:
    captured.execute(f"SET GLOBAL binlog_row_metadata = {metadata}")
    captured.execute("CREATE TABLE line (id int PRIMARY KEY)")
    run = captured.run(snapshot_mode="no_data").start()
    run.poll()
    captured.execute("INSERT INTO line VALUES (1)")
    run.poll_until(1)
    captured.execute("ALTER TABLE line ADD SYSTEM VERSIONING", "UPDATE line SET id = 2")
    refused = "line has system versioning.*table.exclude.list"
    with pytest.raises(ConnectError, match=refused):
        captured.until(run, lambda: False)
    assert ids(run.records) == [1]
    run.stop()
    for mode in ("initial", "no_data"):
        run = captured.run(topic_prefix=mode, snapshot_mode=mode).start()
        with pytest.raises(ConnectError, match=refused):
            run.poll()


def test_a_replica_continues_behind_the_same_transaction(mariadb: MariaServer) -> None:
    """Another server has other files: reading continues by GTID."""
    first = MariaServer(**{"server-id": "11", "gtid-domain-id": "3"})
    second = MariaServer(**{"server-id": "12", "gtid-domain-id": "3", "log-slave-updates": "1", "log-bin": "other"})
    try:
        first.execute("CREATE DATABASE shop")
        captured = CapturedMaria(first)
        captured.execute("CREATE TABLE shop.line (id int PRIMARY KEY, word text)")
        captured.execute("INSERT INTO shop.line SELECT seq, 'x' FROM seq_1_to_100")
        second.execute(
            f"CHANGE MASTER TO master_host='{first.host}', master_port={first.port}, master_user='{first.user}', "
            f"master_password='{first.password}', master_use_gtid=slave_pos"
        )
        second.execute("START SLAVE")
        run = captured.run(database_include_list="shop", max_batch_size="30").start()
        run.poll_until(100)
        captured.execute("INSERT INTO shop.line SELECT seq, 'x' FROM seq_101_to_5000")
        run.poll_until(1000)  # in the middle of a transaction
        run.stop()
        stored = len(run.records)
        captured.execute("INSERT INTO shop.line VALUES (5001, 'x')")
        ((gtid,),) = first.execute("SELECT @@gtid_binlog_pos")
        ((waited,),) = second.execute("SELECT MASTER_GTID_WAIT(%s, 30)", [gtid])
        assert waited == 0
        run.restart({"database.port": str(second.port)})
        captured.until(run, lambda: 5001 in ids(run.records))
        # The transaction in which it was begins again: the other server may have made other events of it.
        assert stored < 5000
        assert ids(run.records) == [*range(1, stored + 1), *range(101, 5002)]
        captured.close()
    finally:
        first.close()
        second.close()


def test_a_server_has_names_in_small_letters_however_statements_write_them(mariadb: MariaServer) -> None:
    server = MariaServer(**{"lower-case-table-names": "1"})  # the usual one is asked for so that its programs are there
    try:
        captured = CapturedMaria(server.database("shop"))
        captured.execute("CREATE TABLE Line (id int PRIMARY KEY, word text)")
        run = captured.run(snapshot_mode="no_data").start()
        run.poll()
        steps = (
            ("ALTER TABLE LINE ADD COLUMN price int", "line", "(1, 'a', 1)", ["id", "word", "price"]),
            ("RENAME TABLE Line TO Shop.Next", "next", "(2, 'b', 2)", ["id", "word", "price"]),
            ("ALTER TABLE NEXT DROP price, RENAME TO Third", "third", "(3, 'c')", ["id", "word"]),
            ("CREATE TABLE Other LIKE Third", "other", "(4, 'd')", ["id", "word"]),
            ("ALTER TABLE OTHER DROP COLUMN word", "other", "(5)", ["id"]),
        )
        for statement, table, row, _ in steps:
            captured.execute(statement, f"INSERT INTO {table} VALUES {row}")
        records = run.poll_until(len(steps))
        assert [(r.topic, fields(r)) for r in records] == [(f"shop.shop.{table}", of) for _, table, _, of in steps]
        run.stop()
    finally:
        server.close()
