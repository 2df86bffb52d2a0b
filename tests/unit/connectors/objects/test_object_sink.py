"""The sink of objects, over a store in memory: what becomes of records that are unusual, and legal."""

import csv
import io

from tests.unit.connectors.objects.in_memory import ObjectRun


def test_line_ends_within_fields_of_csv_are_quoted() -> None:
    rows = [{"a": "x\ny", "b": 'q"r'}, {"a": "x\ry", "b": None}, {"a": "x\r\ny", "b": ","}]
    with ObjectRun({"flush.size": "3", "format.class": "csv"}) as run:
        run.put(*rows, {"a": "an\nother\nname"})
        run.await_committed(3)
    (content,) = run.contents.values()
    found = list(csv.DictReader(io.StringIO(content.decode(), newline="")))
    assert found == [{"a": row["a"], "b": row["b"] or ""} for row in rows]


def test_line_ends_within_names_of_csv_are_quoted() -> None:
    with ObjectRun({"flush.size": "1", "format.class": "csv"}) as run:
        run.put({"a\nb": "1", "c": "2"})
        run.await_committed(1)
    assert list(run.contents.values()) == [b'"a\nb",c\n1,2\n']
