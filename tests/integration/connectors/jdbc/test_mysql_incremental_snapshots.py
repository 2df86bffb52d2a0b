"""Tables of a real MariaDB that are read again: keys of its types."""

from __future__ import annotations

import pytest

from .incremental_snapshots import ROWS, ask, left, read, start
from .mysql_captured import CapturedMaria


@pytest.fixture
def captured(captured_mariadb: CapturedMaria) -> CapturedMaria:
    return captured_mariadb


def test_keys_of_all_kinds_and_only_some_rows(signalled: CapturedMaria) -> None:
    signalled.execute(
        "CREATE TABLE `odd ``one` (t varchar(20), b varbinary(9), d decimal(20, 3), at datetime(3), n bigint unsigned, "
        "PRIMARY KEY (t, b, d, at, n))",
        "INSERT INTO `odd ``one` VALUES ('it''s \\\\ \\n', x'00ff', -1.5, '2026-01-02 03:04:05.678', 1), "
        "('', '', 12345678901234567.125, '2026-01-02', 18446744073709551615), "
        "('', '', 12345678901234567.125, '2026-01-02', 18446744073709551614), ('é', 'x', 0, '2026-01-02', 0)",
        "CREATE TABLE keyless (a int)",
        "INSERT INTO keyless VALUES (1)",
        "CREATE TABLE kinds (k enum('b', 'a') PRIMARY KEY)",
        "INSERT INTO kinds VALUES ('a')",
    )
    run = start(signalled, **{"incremental.snapshot.chunk.size": "1", "bigint.unsigned.handling.mode": "precise"})
    conditions = [{"data-collection": signalled.table("line"), "filter": "id % 100 = 0"}]
    ask(signalled, ".*", **{"additional-conditions": conditions})
    signalled.until(run, lambda: len(read(run)) == ROWS // 100 + 1 and left(run) is None)
    assert read(run) == [0, 100, 200, 300, 400, 500]
    odd = [each.value["after"] for each in run.records if "odd" in each.topic]
    assert [(each["t"], bytes(each["b"]), int(each["n"])) for each in odd] == [
        ("", b"", 18446744073709551614),
        ("", b"", 18446744073709551615),
        ("é", b"x", 0),
        ("it's \\ \n", b"\x00\xff", 1),
    ]
    assert not [each for each in run.records if "keyless" in each.topic or "kinds" in each.topic]
