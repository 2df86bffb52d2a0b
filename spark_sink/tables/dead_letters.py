"""Records that cannot be written, as rows of a Delta table of their own, each once.

| column | |
|---|---|
| connector, application, batch | who gave the record up, and in which batch of which query |
| topic, partition, offset, timestamp | which record it is, where it was consumed |
| stage, class, exception, message, trace | what failed, as in the headers of a dead letter topic |
| key, value, headers | the record's bytes; of a record that only did not fit its table, key and value as JSON |

A repeated batch may find other records unfit than before, because its table was changed meanwhile. So rows are
identified not by transactions but by their records: MERGE adds those that are missing.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Final

from spark_sink.tables.rows import Refusal, Rows
from spark_sink.tables.settings import TableSettings
from spark_sink.tables.table import Table
from spark_sink.tables.types import Type, literal

_HEADERS: Final[Type] = {
    "type": "array",
    "elementType": {
        "type": "struct",
        "fields": [{"name": "key", "type": "string"}, {"name": "value", "type": "binary"}],
    },
}
COLUMNS: Final[Sequence[tuple[str, Type]]] = [
    ("connector", "string"),
    ("application", "string"),
    ("batch", "long"),
    ("topic", "string"),
    ("partition", "integer"),
    ("offset", "long"),
    ("timestamp", "timestamp"),
    *((name, "string") for name in ("stage", "class", "exception", "message", "trace")),
    ("key", "binary"),
    ("value", "binary"),
    ("headers", _HEADERS),
]
_FAILED: Final = "_failure IS NOT NULL"
_VIEW: Final = "connect_dead_letters"
#: Topics that are written side by side share the table, and would be in each other's way.
_ONE_AT_A_TIME: Final = threading.Lock()


def letters(df: Any, rows: Rows, refused: Sequence[Refusal], connector: str, app_id: str, batch: int) -> Any:
    """The records of a batch that the error policy gave up, and those that are refused, as rows of the table."""
    why = " ".join(f"WHEN {condition} THEN {literal(reason)}" for condition, reason in refused)
    given_up = f"WHEN {_FAILED} THEN _failure.message " if "_failure" in rows.columns else ""
    conditions = [condition for condition, _ in refused] + ([_FAILED] if given_up else [])
    ours = {
        "stage": literal("TASK_PUT"),
        "class": literal("spark_sink.tables.TableWriter"),
        "exception": literal("connect.errors.SchemaError"),
        "message": f"CASE {given_up}{why} END" if why or given_up else "CAST(NULL AS string)",
        "trace": "CAST(NULL AS string)",
        "key": "CAST(to_json(_key) AS binary)" if "_key" in rows.columns else "CAST(NULL AS binary)",
        "value": "CAST(to_json(_value) AS binary)",
        "headers": "CAST(NULL AS array<struct<key: string, value: binary>>)",
    }
    if given_up:
        ours = {name: f"IF({_FAILED}, _failure.{name}, {sql})" for name, sql in ours.items()}
    return df.where(" OR ".join(f"({condition})" for condition in conditions) or "false").selectExpr(
        f"{literal(connector)} AS connector",
        f"{literal(app_id)} AS application",
        f"CAST({batch} AS bigint) AS batch",
        "_origin.topic AS topic",
        "_origin.partition AS partition",
        "_origin.offset AS offset",
        "_timestamp AS timestamp",
        *(f"{sql} AS {name}" for name, sql in ours.items()),
    )


def add(found: Any, table: Table, app_id: str, batch: int) -> None:
    """Add those rows of `letters` that are missing. The table is created if it does not exist."""
    with _ONE_AT_A_TIME:
        _add(found, table, app_id, batch)


def _add(found: Any, table: Table, app_id: str, batch: int) -> None:
    if table.columns() is None:
        table.create(COLUMNS, TableSettings(table=table.name))
    names = [name for name, _ in COLUMNS]
    this = f"t.application = {literal(app_id)} AND t.batch = {batch}"
    same = " AND ".join(f"t.{name} = s.{name}" for name in ("topic", "partition", "offset"))
    found.createOrReplaceTempView(_VIEW)
    try:
        found.sparkSession.sql(
            f"MERGE INTO {table.sql} AS t USING {_VIEW} AS s ON {this} AND {same} WHEN NOT MATCHED THEN INSERT "
            f"({', '.join(names)}) VALUES ({', '.join(f's.{name}' for name in names)})"
        ).collect()
    finally:
        found.sparkSession.catalog.dropTempView(_VIEW)
