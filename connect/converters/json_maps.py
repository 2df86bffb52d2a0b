"""JSON objects without a schema, parsed by Arrow straight into a column for each key: no dict is made for a record.

The types of the values are learned from some records. They hold for a batch only if all its values are of these types,
plain ones, and nothing in it is ambiguous; else the batch is for other parsers. So what is made of a record does not
depend on other records, but for the order of its keys. Imported only where columns are wanted: it loads pyarrow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from connect.converters.json_arrow import ArrowRows, Attempts
from connect.converters.json_decode import Decoder
from connect.converters.json_fast import REFUSED, parse
from connect.data.arrow_column import ArrowColumn
from connect.data.schema import OPTIONAL_BOOLEAN, OPTIONAL_FLOAT64, OPTIONAL_INT64, OPTIONAL_STRING, Schema

_TYPES: Final[Mapping[type, Schema]] = {
    int: OPTIONAL_INT64,
    float: OPTIONAL_FLOAT64,
    bool: OPTIONAL_BOOLEAN,
    str: OPTIONAL_STRING,
    NoneType: OPTIONAL_STRING,  # null wherever it was looked at
}
#: So many records, spread over a batch, are looked at for the types of their values.
_SAMPLES: Final = 64
#: More keys are no fields, but names of things.
_MOST_KEYS: Final = 500


class ArrowMaps:
    """Parses objects whose values have plain types. Remembers what it learned for the next batch."""

    def __init__(self) -> None:
        self._decoder = Decoder(replace_null=True)
        self._types: dict[str, Schema] = {}
        self._rows: ArrowRows | None = None
        self._attempts = Attempts()

    def columns(self, objects: Sequence[bytes]) -> dict[str, ArrowColumn] | None:
        """The values of each key of at least one JSON object; None where another parser is needed."""
        return self._attempts.of(lambda: self._columns(objects))

    def _columns(self, objects: Sequence[bytes]) -> dict[str, ArrowColumn] | None:
        found = self._parsed(objects)
        if found is None and self._learn(objects):
            found = self._parsed(objects)
        if found is None:
            return None
        arrays = dict(zip(self._types, found, strict=True))
        absent = _are_absent(arrays, objects)
        if absent is None or not _all_doubles(arrays, objects):
            return None
        return {name: ArrowColumn(array, absent=absent) for name, array in arrays.items()}

    def _parsed(self, objects: Sequence[bytes]) -> list[pa.Array] | None:
        return None if self._rows is None else self._rows.parsed(objects, self._decoder)

    def _learn(self, objects: Sequence[bytes]) -> bool:
        """Learn from some of these records; whether anything is new, and can be used."""
        try:
            samples = [parse(item) for item in objects[:: max(1, len(objects) // _SAMPLES)]]
        except REFUSED:
            return False
        kinds: dict[str, type] = {}
        for sample in samples:
            for name, value in sample.items():
                kind = kinds.get(name, NoneType)
                if kind is NoneType:
                    kinds[name] = type(value)
                elif value is not None and type(value) is not kind:
                    return False
        if not 0 < len(kinds) <= _MOST_KEYS or not set(kinds.values()) <= _TYPES.keys():
            return False
        types = {name: _TYPES[kind] for name, kind in kinds.items()}
        if types == self._types:
            return False
        self._types = types
        self._rows = ArrowRows(Schema.struct(types))
        return True


def _are_absent(arrays: Mapping[str, pa.Array], objects: Sequence[bytes]) -> bool | None:
    """Whether the nulls of these columns are keys that are not there; None where only some of them may be."""
    nulls = sum(array.null_count for array in arrays.values())
    joined = b"\n".join(objects) if nulls else b""
    written = joined.count(b"null")
    if not written:
        return True
    if b"\\" in joined:  # the word may be in a text that is written in another way
        return None
    texts = [array for array in arrays.values() if array.type == pa.string()]
    in_texts = sum(pc.sum(pc.count_substring(array, "null")).as_py() or 0 for array in texts)
    in_names = any("null" in name for name in arrays)
    if in_names or written - in_texts not in (0, nulls):
        return None
    return written == in_texts


def _all_doubles(arrays: Mapping[str, pa.Array], objects: Sequence[bytes]) -> bool:
    """Whether each value of a column of doubles was written as one: Arrow reads 1 there, too."""
    doubles = [name for name, array in arrays.items() if array.type == pa.float64()]
    whole: set[int] = set()
    for name in doubles:
        array = arrays[name]
        whole.update(pc.indices_nonzero(pc.equal(pc.floor(array), array).fill_null(False)).to_pylist())
    for row in whole:
        read = parse(objects[row])
        if any(type(read.get(name, 0.0)) is int for name in doubles):
            return False
    return True
