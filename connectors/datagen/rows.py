"""The records themselves: which ones there are by number, and blocks of them as columns.

Records are made in blocks of 256, each from chance of its own, which the seed and the block's number give: any block
can be made by any task at any time, and is the same. Blocks are dealt out among the tasks in turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from connect import ConfigError, Schema, StructColumns, Type, Values
from connectors.datagen import keys
from connectors.datagen.chance import lots, seeded
from connectors.datagen.generators import Chosen, Generator, Structs

BLOCK: Final = 256


@dataclass(frozen=True, slots=True)
class Share:
    """What is one task's of all records.

    Attributes:
        task, count: it is the task of this number, from 0, of so many.
        end: the first record that is not made any more; None for no end.
    """

    task: int
    count: int
    end: int | None

    def at_or_after(self, number: int) -> int | None:
        """The next of its records from this one on, None when there is none."""
        block = number // BLOCK
        turns = (self.task - block) % self.count
        found = number if not turns else (block + turns) * BLOCK
        return found if self.end is None or found < self.end else None

    def run(self, start: int) -> range:
        """Its records from one of them to the end of the block."""
        stop = (start // BLOCK + 1) * BLOCK
        return range(start, stop if self.end is None else min(stop, self.end))


class Rows:
    """Makes records.

    Args:
        options: the connector's keys.
        seed: what chance begins with.

    Raises:
        ConfigError: the schema is wrong.
    """

    def __init__(self, options: keys.DatagenOptions, seed: int) -> None:
        # What reads Avro schemas is not loaded before there is one to read.
        from connectors.datagen import schemas

        text, where = options.schema_text()
        self.schema: Schema
        self._maker: Generator
        try:
            self.schema, self._maker = schemas.read(text, options.null_share)
        except schemas.Problem as error:
            raise ConfigError(where, f"{error}") from error
        self._seed = seed
        self._tombstones = options.tombstone_share
        self.key_schema: Schema | None = None
        name = options.key_field()
        if name:
            self._take_key(name, options.cardinality)
        elif options.cardinality or self._tombstones:
            key = "cardinality" if options.cardinality else "tombstone.share"
            raise ConfigError(key, "is for records that have a key. Name its field in schema.keyfield.")
        self._key = name

    def _take_key(self, name: str, cardinality: int) -> None:
        field = self.schema.field(name) if self.schema.type is Type.STRUCT else None
        if field is None or not isinstance(self._maker, Structs):
            there = ", ".join(each.name for each in self.schema.fields) or "none"
            raise ConfigError("schema.keyfield", f'the schema has no field "{name}". It has {there}.')
        self.key_schema = field.schema
        if cardinality:
            fields = dict(self._maker.fields)
            fields[name] = Pool(fields[name], cardinality, self._seed)
            self._maker = Structs(list(fields.items()))

    def made(self, runs: Sequence[range]) -> tuple[Values | None, Values]:
        """The keys, None where there are none, and the values of runs of records, each within one block."""
        if isinstance(self._maker, Structs):
            columns: list[list[Any]] = [[] for _ in self.schema.fields]
            for run in runs:
                start, stop, block = self._of_block(run)
                for column, made in zip(columns, self._maker.columns(seeded(self._seed, start), block), strict=True):
                    column.extend(made if len(run) == BLOCK else made[stop - len(run) : stop])
            values: Values = StructColumns(self.schema, columns)
            if self.key_schema is None:
                return None, values
            field = self.schema.field(self._key)
            assert field is not None
            return Values(columns[field.index], self.key_schema), values
        items: list[Any] = []
        for run in runs:
            start, stop, block = self._of_block(run)
            items += self._maker.column(seeded(self._seed, start), block)[stop - len(run) : stop]
        return None, Values(items, self.schema)

    def alive(self, runs: Sequence[range]) -> list[bool] | None:
        """Which records are not tombstones; None for all of them."""
        if not self._tombstones:
            return None
        found: list[bool] = []
        for run in runs:
            start, stop, _ = self._of_block(run)
            dead = lots(seeded(self._seed, start, "tombstones"), BLOCK, self._tombstones)[stop - len(run) : stop]
            found += [not each for each in dead]
        return found

    def _of_block(self, run: range) -> tuple[int, int, range]:
        """The first record of a run's block, where in the block the run ends, and the block."""
        start = run.start // BLOCK * BLOCK
        return start, run.stop - start, range(start, start + BLOCK)


class Pool:
    """One of a number of values in each row: the first ones that a field would get.

    Args:
        field: what makes them.
        size: how many.
        seed: what chance begins with. The pool is the same whatever rows are asked for.
    """

    def __init__(self, field: Generator, size: int, seed: int) -> None:
        self._field = field
        self._size = size
        self._seed = seed
        self._chosen: Chosen | None = None

    def column(self, chance: Any, rows: Sequence[int]) -> list[Any]:
        if self._chosen is None:
            self._chosen = Chosen(self._field.column(seeded(self._seed, "pool"), range(self._size)))
        return self._chosen.column(chance, rows)
