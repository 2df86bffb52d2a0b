"""`python -m bench.chain`: JSON through ReplaceField, InsertField and Cast, topic to file, beside Kafka Connect.

2,000,000 JSON objects of 100 bytes: one field dropped, one renamed, a fixed text added, a number cast to text. Without
a schema, with the schema in `schema.content`, and with the schema in each record. What came out is held to what the
transformations make of each line.
"""

import sys
from typing import Any

from bench import one
from bench.files import FIGURES, measure_works
from bench.part import Settings
from bench.tables import compare
from bench.work import CHAIN

_TITLES = {
    "sink-schemaless": "without a schema",
    "sink-declared": "schema declared",
    "sink-enveloped": "schema in each record",
}


def measure(settings: Settings) -> dict[str, Any]:
    """The works with transformations."""
    return measure_works(settings, CHAIN)


def table(document: dict[str, Any]) -> str:
    """The document as Markdown."""
    return compare(document, _TITLES, FIGURES, ("java", "Java"))


if __name__ == "__main__":
    sys.exit(one.main("bench.chain", "chain"))
