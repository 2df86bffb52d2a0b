"""`python -m bench.crossing`: what it costs that a batch crosses into the JVM and back, on batches of 10,000.

Java's own transformation and converter run in a chain of Python. The records are those of `bench.transforms`, in its
three forms. What is measured is the CPU time of the whole process, with what Java's plug-in does and what the JVM does
besides: collecting garbage, and compiling. The median of the last half of the runs, after some that do not count.
"""

import gc
import statistics
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from bench import one
from bench.bars import bar_of, judge
from bench.document import Rows
from bench.machine import say, versions
from bench.part import Settings
from bench.tables import markdown, marked
from bench.transforms import FLAT, FORMS, NESTED, RECORDS, Shape, batch_of
from connect import Schema
from connect.data.column import column
from connect.data.logical import decimal
from connect.data.schema import INT64, STRING
from connect.java.plugins import stand_in

_API = "org.apache.kafka.connect."
_TAGS = Shape(
    lambda number: {"id": number, "tags": {"a": f"tag {number}", "b": "second", "c": "third"}},
    Schema.struct({"id": INT64, "tags": Schema.map(STRING, STRING)}),
)
_PRICES = Shape(
    lambda number: {"id": number, "total": _cents(number), "paid": _cents(2 * number)},
    Schema.struct({"id": INT64, "total": decimal(2), "paid": decimal(2)}),
)
#: What a table calls them.
SHAPES = {"eight fields": FLAT, "a struct in a struct": NESTED, "a map of three": _TAGS, "two decimals": _PRICES}
#: A map has no form in Arrow, and JsonConverter writes no decimal without a schema.
_NOT_THERE = (("Arrow", _TAGS), ("no schema", _PRICES))


def _cents(number: int) -> Decimal:
    return Decimal(f"{number}E-2")


def measure(settings: Settings) -> dict[str, Any]:
    """Every shape in every form."""
    gc.set_threshold(100_000, 20, 100)  # as tasks have it
    rows = Rows({})
    runs = 10 if settings.quick else 60
    for form in FORMS:  # Java compiles what is hot: that is not to fall on the first shape
        _measured(_transforming(), FLAT, form, runs)
        _measured(_converting(), FLAT, form, runs)
    for number in range(settings.repeat()):
        say(f"round {number + 1}")
        for name, shape in SHAPES.items():
            for form in FORMS:
                if (form, shape) in _NOT_THERE:
                    continue
                if settings.wants(name):
                    rows.add(f"{name}: transformed", form, _measured(_transforming(), shape, form, runs))
                    rows.add(f"{name}: converted", form, _measured(_converting(), shape, form, runs))
    return {
        "settings": {"rounds": settings.repeat(), "records": RECORDS},
        "versions": versions("connect-runtime", "pyarrow", "jpype1"),
        "rows": rows.as_json(),
    }


def _transforming() -> Callable[[Any], Any]:
    """Java's InsertField makes a new value of each record: both ways are paid for."""
    made = stand_in("transformation", f"{_API}transforms.InsertField$Value", None)()
    made.configure(made.settings.parse({"static.field": "added", "static.value": "it"}))
    run: Callable[[Any], Any] = made.apply_batch
    return run


def _converting() -> Callable[[Any], Any]:
    """Java's JsonConverter writes values, as a converter of a user's would: one way by columns, one of bytes."""
    made = stand_in("converter", f"{_API}json.JsonConverter", None)()
    made.configure({"schemas.enable": "false", "converter.type": "value"}, is_key=False)
    nothing = column([None] * RECORDS)
    return lambda batch: made.from_connect_batch_with_headers(batch.topics, batch.values, nothing)


def _measured(run: Callable[[Any], Any], shape: Shape, form: str, runs: int) -> dict[str, float]:
    """Microseconds a record."""
    took = []
    for _ in range(runs):
        batch = batch_of(shape, form)
        began = time.process_time()
        changed = run(batch)
        took.append(time.process_time() - began)
        del changed
    each = [1e6 * one / RECORDS for one in took[runs // 2 :]]
    return {"us": statistics.median(each), "least_us": min(each), "runs": len(each)}


def table(document: dict[str, Any]) -> str:
    """The document as Markdown: microseconds of CPU a record, with the bar."""
    judged = judge(document)
    rows = [["records", *FORMS]]
    for name, sides in document["rows"].items():
        cells = []
        for form in FORMS:
            found = sides.get(form, {}).get("median", {}).get("us")
            held = bar_of(judged, f"{name}/{form}/median/us")
            bar = f" ({held.bar.value:g})" if held else ""
            cells.append("" if found is None else marked(f"{found:.2f}{bar}", held))
        rows.append([name, *cells])
    return markdown(rows)


if __name__ == "__main__":
    sys.exit(one.main("bench.crossing", "crossing"))
