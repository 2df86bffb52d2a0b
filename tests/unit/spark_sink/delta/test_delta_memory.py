"""A table is opened anew now and then: deltalake keeps something of each update."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from connect.errors import ConnectError
from spark_sink.delta import table as module
from spark_sink.delta.table import Table


def test_a_table_is_opened_anew_after_some_updates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_UPDATES", 3)
    place = tmp_path / "table"
    write_deltalake(place, pa.table({"n": [1]}))
    table = Table(str(place), "sink", {})
    opened = set()
    for version in range(1, 9):
        assert table.look()
        assert table.version == version - 1
        opened.add(id(table._table))
        write_deltalake(place, pa.table({"n": [version]}), mode="append")
    assert len(opened) > 1
    monkeypatch.setattr(module, "_UPDATES", 0)
    shutil.rmtree(place)
    with pytest.raises(ConnectError):  # a table that was there and is gone is not made again
        table.look()
