"""A part of the benchmark: a module that measures one thing, and what it is told. `PARTS` lists them.

Each part is a module with two functions:

    measure(settings) -> dict     "settings" (sizes and rounds), "versions" (of whom it measures beside), "rows"
    table(document) -> str        the document as Markdown, for docs/performance.md

and, where it draws, `pictures(document) -> dict[str, str]`: SVG by its path beside that page.

`python -m bench` runs parts, each in a process of its own (`bench.one`), and keeps what they measure as
bench/results/PART.json. What the rows look like says `bench.document`; what is expected of them says `bench.bars`.
"""

from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast


@dataclass(frozen=True)
class Settings:
    """What a part is told.

    Attributes:
        folder: its own, empty. Whoever made it removes it.
        quick: sizes that only show that everything works. Their figures are worth nothing.
        rounds: how often each side does each work; None for what the part thinks right.
        size: records, or connectors, of each work; None for what the part thinks right.
        only: the rows whose name has one of these in it; empty for all.
    """

    folder: Path
    quick: bool = False
    rounds: int | None = None
    size: int | None = None
    only: tuple[str, ...] = field(default=())

    def repeat(self, full: int = 3) -> int:
        """How many rounds to measure."""
        return self.rounds or (1 if self.quick else full)

    def count(self, full: int, quick: int) -> int:
        """How many records or connectors to measure with."""
        return self.size or (quick if self.quick else full)

    def wants(self, row: str) -> bool:
        """Whether a row is to be measured."""
        return not self.only or any(part.lower() in row.lower() for part in self.only)


class PartModule(Protocol):
    """What the module of a part has."""

    def measure(self, settings: Settings) -> dict[str, Any]:
        """Measure. What goes wrong is raised."""

    def table(self, document: dict[str, Any]) -> str:
        """What was measured, as Markdown."""


@dataclass(frozen=True)
class Part:
    """One part.

    Attributes:
        name: what it is called in `make bench PARTS=...`, in bench/results and in the page.
        module: where it is.
        minutes: how long it takes on two cores at rest, about.
        quick_minutes: the same with `quick`, on a machine that does other things as well.
    """

    name: str
    module: str
    minutes: float
    quick_minutes: float = 2

    def limit(self, *, quick: bool) -> float:
        """Seconds after which it is given up."""
        return 60 * (15 if quick else max(10, 3 * self.minutes))

    def load(self) -> PartModule:
        """Its module."""
        return cast("PartModule", import_module(self.module))


PARTS = (
    Part("files", "bench.files", 10, 2),
    Part("chain", "bench.chain", 6, 2),
    Part("shapes", "bench.any_shape", 25, 4),
    Part("stages", "bench.stages", 2, 0.5),
    Part("java", "bench.java_classes", 7, 2),
    Part("java_tasks", "bench.java_tasks", 12, 3),
    Part("crossing", "bench.crossing", 4, 1),
    Part("transforms", "bench.transforms", 2, 0.5),
    Part("avro", "bench.avro", 0.5, 0.2),
    Part("converters", "bench.converters", 0.5, 0.2),
    Part("jdbc", "bench.jdbc", 7, 2),
    Part("elasticsearch", "bench.elasticsearch", 4, 1.5),
    Part("s3", "bench.s3", 4, 1),
    Part("soak", "bench.s3_soak", 6, 0.5),
    Part("mirror", "bench.mirror", 8, 2),
    Part("spark", "bench.spark", 14, 3),
    Part("merges", "bench.merges", 4, 2),
    Part("exactly_once", "bench.exactly_once", 6, 1),
    Part("latency", "bench.latency", 10, 3),
    Part("rest", "bench.rest_latency", 3, 1.5),
    Part("pool", "bench.pool", 22, 6),
)


def named(name: str) -> Part:
    """The part of a name.

    Raises:
        KeyError: there is none; the message says which there are.
    """
    for part in PARTS:
        if part.name == name:
            return part
    raise KeyError(f'There is no part "{name}". There are: {", ".join(part.name for part in PARTS)}.')
