"""What happens to a record with another schema than its file's.

The policy of all sinks (`connect.data.evolution`) says whether a record fits a file, and which schema the next file
needs if it does not: a file is never changed; it ends, and the next one has the needed schema.
"""

from __future__ import annotations

from decimal import MAX_PREC, Context, Decimal
from typing import Any, Final

from connect import DataError, Schema, Type, Values, logical
from connect.data.evolution import Evolution, EvolutionPolicy
from connect.data.evolution_policy import ALL, FAIL, PASS, QUARANTINE

_MOST_REMEMBERED: Final = 1000
#: Python's own context refuses decimals of more than 28 digits.
_ANY_DIGITS: Final = Context(prec=MAX_PREC)

#: The policies of schema.compatibility; with NONE there is none: every other schema begins another file.
OF_WORDS: Final = {
    "none": None,
    "forward": EvolutionPolicy(ignore_unknown=True, mismatch=QUARANTINE),
    "backward": EvolutionPolicy(ALL, mismatch=QUARANTINE),
    "full": EvolutionPolicy(ALL, mismatch=QUARANTINE),
}


class Unfit(DataError):
    """A record that fails the task, whatever the error policy says: schema.evolution.on.mismatch=fail."""


class Compatibility:
    """Finds the schemas of files, and fits records into them.

    Args:
        policy: what the next file's schema may have that this one's lacks, and what happens to what fits neither.
    """

    def __init__(self, policy: EvolutionPolicy) -> None:
        self._policy = policy
        self._known: dict[tuple[int, int], tuple[Schema, Schema, Schema]] = {}

    def adopt(self, file: Schema | None, record: Schema | None) -> Schema | None:
        """The schema that a file must have for a record: the file's own, or one that takes both.

        With on.mismatch=pass a record that might not fit begins a file of its own schema.

        Raises:
            DataError: no schema does.
        """
        if file is None or record is None or file is record:
            return record
        known = self._known.get((id(file), id(record)))
        if known is not None:
            return known[2]
        found = Evolution(self._policy, file).compare(record)
        target = file if found.target == file else found.target
        if self._policy.mismatch == PASS and not found.certain:
            target = record
        elif found.problems:
            raise self._unfit(" ".join(found.problems))
        if len(self._known) >= _MOST_REMEMBERED:
            self._known.clear()
        self._known[id(file), id(record)] = (file, record, target)  # kept, so that ids stay theirs
        return target

    def project(self, values: Values, target: Schema) -> Values:
        """Values with a file's schema.

        Raises:
            DataError: one does not fit.
        """
        verdict = Evolution(_AS_IT_IS, target).judge(values)
        if verdict.mismatches:
            raise self._unfit(verdict.mismatches[0].reason)
        return Values([_projected(target, value) for value in values], target)

    def _unfit(self, reason: str) -> DataError:
        kind = Unfit if self._policy.mismatch == FAIL else DataError
        return kind(f"the record does not fit its file: {reason}")


_AS_IT_IS: Final = EvolutionPolicy(ignore_unknown=True)


def _projected(target: Schema, value: Any) -> Any:
    if value is None:
        if not target.optional and target.default is None:
            raise DataError("a field that the file requires is null or missing.")
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
        return Decimal(value).quantize(Decimal(1).scaleb(-logical.scale_of(target)), context=_ANY_DIGITS)
    if target.type in (Type.FLOAT32, Type.FLOAT64) and isinstance(value, int):
        return float(value)
    return value
