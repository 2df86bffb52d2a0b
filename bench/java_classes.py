"""`python -m bench.java_classes`: Kafka Connect's own file connectors, from their jar, in both workers.

2,000,000 lines of 100 bytes, as in `bench.files`. On our side the data path is Java's as well, in a JVM within the
task's process; what is measured is what that costs, and how soon it begins.
"""

import sys
from dataclasses import replace
from typing import Any

from bench import one
from bench.files import FIGURES, measure_works
from bench.part import Settings
from bench.tables import compare
from bench.work import LINES

_WORKS = [replace(work, jars=True) for work in LINES if work.variant != "unchanged"]


def measure(settings: Settings) -> dict[str, Any]:
    """The works of lines that have no transformation."""
    return measure_works(settings, _WORKS)


def table(document: dict[str, Any]) -> str:
    """The document as Markdown."""
    return compare(document, {work.name: work.title for work in _WORKS}, FIGURES, ("java", "its worker"))


if __name__ == "__main__":
    sys.exit(one.main("bench.java_classes", "java"))
