"""A Java transformation that changes records in place: `python -m tests.integration.java.in_place JAR`.

Prints what a batch of every shape is afterwards, a line for each record.
"""

from __future__ import annotations

import sys
from typing import Any

from connect.data.batch import SinkBatch
from connect.data.headers import Header, Headers
from connect.data.record import SinkRecord
from connect.data.schema import BYTES, OPTIONAL_STRING, STRING, Schema
from connect.java.plugins import stand_in

STRUCT = Schema.struct({"secret": OPTIONAL_STRING, "n": STRING})
SHAPES: dict[str, dict[str, Any]] = {
    "header": {"value": "x", "headers": Headers([Header("secret", "s", STRING)])},
    "map": {"value": {"secret": "s", "n": "1"}},
    "struct": {"value": {"secret": "s", "n": "1"}, "value_schema": STRUCT},
    "bytes": {"value": b"s", "value_schema": BYTES},
    "key": {"value": "x", "key": {"secret": "s"}},
}


def main(jar: str) -> int:
    """Returns the exit code."""
    made = stand_in("transformation", "x.Chain$Censor", jar)()
    made.configure(made.settings.parse({}))
    for name, parts in SHAPES.items():
        record = SinkRecord(**{"topic": "t", "partition": 0, "offset": 0, **parts})
        plain = SinkRecord(topic="t", partition=0, offset=1, value="plain")
        (found, _) = made.apply_batch(SinkBatch.of([record, plain])).records()
        sys.stdout.write(f"{name}: {found.key} {found.value} {[header.key for header in found.headers]}\n")
    untouched = SinkBatch.of([SinkRecord(topic="t", partition=0, offset=0, value={"n": 1})])
    same = made.apply_batch(untouched).values is untouched.values
    sys.stdout.write(f"untouched: {same}\n")
    made.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
