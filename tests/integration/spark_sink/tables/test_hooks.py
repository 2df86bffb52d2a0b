"""A function of the user's gets each batch in place of the table."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from connect import TopicPartition
from connect.errors import ConfigError, ConnectError, RetriableError
from spark_sink.tables.hook import ForeachBatch, hooked

VALUE = {"id": pa.int64(), "text": pa.string()}
RANGES = {TopicPartition("t", 0): (0, 1)}

CODE = """
import connect

CALLS = []

def only_even(rows, batch, context):
    CALLS.append((batch, context.connector, context.application, context.topic, context.offsets))
    context.write(rows.where("_value.id % 2 = 0").withColumn("_value", rows._value.withField("text", rows._topic)))

def nothing(rows, batch, context):
    CALLS.append(sorted(row.id for row in context.as_table(rows).collect()))

def twice(rows, batch, context):
    context.write(rows)
    context.write(rows)

def fails(rows, batch, context):
    raise ValueError("no such shop")

def is_busy(rows, batch, context):
    raise connect.RetriableError("the shop is closed")

def asks_wrongly(rows, batch, context):
    rows.selectExpr("nothing").collect()

NO_FUNCTION = 1
"""


@pytest.fixture
def plugin_path(tmp_path: Path) -> Iterator[list[str]]:
    """A folder of plug-ins, in which a module `my_batches` is."""
    (tmp_path / "plugins" / "mine").mkdir(parents=True)
    (tmp_path / "plugins" / "mine" / "my_batches.py").write_text(CODE)
    before = list(sys.path)
    yield [str(tmp_path / "plugins")]
    sys.path[:] = before
    sys.modules.pop("my_batches", None)


@pytest.fixture
def hook(tables: Any, plugin_path: list[str]) -> Callable[..., ForeachBatch]:
    """A writer that calls a function: `hook("fails", mode="upsert")`."""

    def make(function: str, **keys: str) -> ForeachBatch:
        writer = tables.writer(foreach__batch=f"my_batches:{function}", **keys)
        made = hooked(writer, plugin_path)
        assert isinstance(made, ForeachBatch)
        return made

    return make


def batch(tables: Any, *ids: int) -> Any:
    return tables.batch(VALUE, [{"value": {"id": id_, "text": "a"}} for id_ in ids])


def calls() -> list[Any]:
    found: list[Any] = sys.modules["my_batches"].CALLS  # type: ignore[attr-defined]
    return found


def test_it_decides_what_is_written_and_a_repeated_batch_is_written_once(tables: Any, hook: Any) -> None:
    writes = hook("only_even", metadata__columns="offset")
    for _ in range(2):
        writes(batch(tables, 1, 2, 4), 7, RANGES)
    assert tables.read() == [{"id": 2, "text": "t", "_offset": 1}, {"id": 4, "text": "t", "_offset": 2}]
    assert calls() == [(7, "c", "connect/c/000001-aa/q", None, RANGES)] * 2
    assert "offsets" in tables.commits()[-1]["userMetadata"]


@pytest.mark.slow
def test_it_may_write_nothing_of_ours_and_no_table_is_made(tables: Any, hook: Any) -> None:
    values = [{"value": {"id": 1, "text": "a"}}, {"value": None}]
    hook("nothing")(tables.batch(VALUE, values), 0)
    assert calls() == [[1]]
    assert not Path(tables.path()).exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "keys", "kind", "words"),
    [
        ("twice", {}, ConnectError, "context.write was called twice for one batch"),
        ("fails", {}, ConnectError, "my_batches:fails of foreach.batch raised ValueError in batch 3: no such shop"),
        ("is_busy", {}, RetriableError, "the shop is closed"),
        ("asks_wrongly", {}, Exception, "nothing.* cannot be resolved"),
        ("only_even", {"table": "", "checkpoint__location": "/c"}, ConfigError, "is required by context.write"),
        ("missing", {}, ConfigError, r"\(.*my_batches.py\) has no function missing"),
        ("NO_FUNCTION", {}, ConfigError, "has no function"),
    ],
)
def test_what_goes_wrong_fails_the_batch_and_says_why(
    tables: Any, hook: Any, function: str, keys: dict[str, str], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        hook(function, **keys)(batch(tables, 1, 2), 3, RANGES)
