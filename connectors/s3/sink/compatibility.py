"""schema.compatibility: what a record with another schema than its file's does.

The policy of all sinks (`connect.data.evolution`) says whether a record fits a file, and what the next file has to look
like where it does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final, Self

from connect import DataError, Schema, Type, Values, logical
from connect.data.evolution import Evolution, EvolutionPolicy
from connect.data.evolution_policy import ADD, NULLABLE, WIDEN

_MOST_REMEMBERED: Final = 1000


class Compatibility:
    """One way of it.

    Args:
        policy: what the next file's schema may have that this one's has not.
    """

    def __init__(self, policy: EvolutionPolicy) -> None:
        self._policy = policy
        self._known: dict[tuple[int, int], tuple[Schema, Schema, Schema]] = {}

    @classmethod
    def of(cls, word: str) -> Self | None:
        """Of a value of the key; None where every other schema begins another file."""
        if word == "none":
            return None
        if word == "forward":
            return cls(EvolutionPolicy(ignore_unknown=True))
        return cls(EvolutionPolicy(frozenset({ADD, WIDEN, NULLABLE})))

    def adopt(self, file: Schema | None, record: Schema | None) -> Schema | None:
        """The schema that a file must have for a record: the file's own, or one that takes both.

        Raises:
            DataError: no schema does.
        """
        if file is None or record is None or file is record:
            return record
        known = self._known.get((id(file), id(record)))
        if known is not None:
            return known[2]
        verdict = Evolution(self._policy, file).judge(Values([_ANY], record))
        if verdict.mismatches:
            raise DataError(f"the record does not fit its file: {verdict.mismatches[0].reason}")
        if len(self._known) >= _MOST_REMEMBERED:
            self._known.clear()
        target = file if verdict.target == file else verdict.target
        self._known[id(file), id(record)] = (file, record, target)  # kept, so that ids stay theirs
        return target

    def project(self, values: Values, target: Schema) -> Values:
        """Values with a file's schema.

        Raises:
            DataError: one does not fit.
        """
        return Values([_projected(target, value) for value in values], target)


class _Anything(int):
    """A value of which only the schema is looked at: nothing in it is missing or too large."""

    def get(self, _: str, default: Any = None) -> Any:
        return self

    def values(self) -> tuple[Any, ...]:
        return ()

    def __iter__(self) -> Iterator[Any]:
        return iter(())


_ANY: Final = _Anything()


def _projected(target: Schema, value: Any) -> Any:
    if value is None:
        if not target.optional and target.default is None:
            raise DataError("a field is null or missing that its file requires.")
        return target.default if not target.optional else None
    if target.type is Type.STRUCT and isinstance(value, dict):
        return {field.name: _projected(field.schema, value.get(field.name)) for field in target.fields}
    if target.type is Type.ARRAY and isinstance(value, list):
        assert target.value_schema is not None
        return [_projected(target.value_schema, item) for item in value]
    if target.type is Type.MAP and isinstance(value, dict):
        assert target.value_schema is not None
        return {key: _projected(target.value_schema, item) for key, item in value.items()}
    if target.name == logical.DECIMAL_NAME:
        return Decimal(value).quantize(Decimal(1).scaleb(-logical.scale_of(target)))
    if target.type in (Type.FLOAT32, Type.FLOAT64) and isinstance(value, int):
        return float(value)
    return value
