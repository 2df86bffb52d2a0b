"""Tables of a real PostgreSQL that are read again: its keys, and its publications."""

from __future__ import annotations

import pytest

from connect import ConnectError
from tests.support.waiting import until

from .incremental_snapshots import ROWS, ask, left, read, start
from .postgres_captured import CapturedPostgres

CAPTURED = "public.(line|Odd.*|keyless)"


@pytest.fixture
def captured(captured_postgres: CapturedPostgres) -> CapturedPostgres:
    return captured_postgres


def test_only_some_rows_of_some_tables(signalled: CapturedPostgres) -> None:
    signalled.execute(
        'CREATE TABLE "Odd ""one" (b bytea, a text, n numeric, PRIMARY KEY (a, b))',
        """INSERT INTO "Odd ""one" VALUES ('\\x00ff', E'it''s\\n\\\\1', 1), ('\\x', '', 2)""",
        "CREATE TABLE keyless (a int)",
        "INSERT INTO keyless VALUES (1)",
    )
    run = start(signalled, **{"incremental.snapshot.chunk.size": "1", "table.include.list": CAPTURED})
    conditions = [{"data-collection": "public.line", "filter": "id % 100 = 0"}]
    ask(signalled, "*", **{"additional-conditions": conditions})
    signalled.until(run, lambda: len(read(run)) == ROWS // 100 + 1 and left(run) is None)
    assert read(run) == [0, 100, 200, 300, 400, 500]
    odd = [each.value["after"] for each in run.records if "Odd" in each.topic]
    assert [(each["a"], bytes(each["b"])) for each in odd] == [("", b""), ("it's\n\\1", b"\x00\xff")]
    assert not [each for each in run.records if "keyless" in each.topic], "it has no key to read it by"


def test_a_publication_without_the_table_of_signals_is_an_error_with_the_next_step(signalled: CapturedPostgres) -> None:
    signalled.execute("CREATE PUBLICATION dbz_publication FOR TABLE line")
    run = signalled.run(**{"signal.data.collection": "public.signals", "snapshot.mode": "no_data"}).start()
    with pytest.raises(ConnectError, match="ADD TABLE"):
        signalled.until(run, lambda: False)


def test_a_publication_of_captured_tables_has_that_of_signals(signalled: CapturedPostgres) -> None:
    run = start(signalled, **{"publication.autocreate.mode": "filtered", "table.include.list": CAPTURED})
    ask(signalled, "line")
    signalled.until(run, lambda: len(read(run)) == ROWS + 1)
    until(lambda: left(run) is None)
