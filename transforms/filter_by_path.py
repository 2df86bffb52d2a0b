"""Keep or drop records by a condition in the notation of JsonPath, as Confluent's Filter does.

https://docs.confluent.io/platform/current/connect/transforms/filter-confluent.html
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeVar

from connect import Batch, ConfigError, DataError, Transformation, Values, settings
from connect.settings import Config
from transforms.json_path import parse

B = TypeVar("B", bound=Batch[Any])


def _path(name: str, text: str) -> None:
    settings.non_empty(name, text)
    parse(text)


class FilterByPath(Transformation):
    """Keeps (`include`) or drops (`exclude`) the records whose value matches a path.

    A path to one value matches if that value exists and is not null; a path with a condition in `[?(...)]`, or to
    several values, matches if it leads to anything. `missing.or.null.behavior` decides when the path leads nowhere:
    the value itself is null, or a field on the path before the first condition is missing or null. Within a condition
    a missing field counts as null, and `missing.or.null.behavior` does not apply.

    Conditions run value by value; the records that stay are taken from the batch as columns.
    """

    pure = True
    part: ClassVar[Literal["keys", "values"]] = "values"
    settings = settings.define(
        settings.String(
            "filter.condition",
            importance="HIGH",
            width="LONG",
            validator=_path,
            doc="A path of JsonPath: $[?(@.shop == 'us')], $.order[?(@.price > 10 && @.open == true)], $.after.id.",
        ),
        settings.String(
            "filter.type",
            importance="HIGH",
            validator=settings.one_of("include", "exclude", ignore_case=True),
            doc="include keeps the records that match and drops the others, exclude drops those that match.",
        ),
        settings.String(
            "missing.or.null.behavior",
            default="fail",
            validator=settings.one_of("fail", "include", "exclude", ignore_case=True),
            doc="What to do with a record in which a field of the path is missing or null: fail (refuse it), include "
            "(pass it), exclude (drop it). Fields within [?(...)] do not count: there null matches no comparison with "
            "a value.",
        ),
    )

    def configure(self, config: Config) -> None:
        try:
            self._path = parse(config["filter.condition"])
        except ValueError as error:
            raise ConfigError("filter.condition", str(error)) from None
        self._include = config["filter.type"].lower() == "include"
        behavior = config["missing.or.null.behavior"].lower()
        self._missing: bool | None = None if behavior == "fail" else behavior == "include"

    def apply(self, record: Any) -> Any:
        return record if self._passes(record.key if self.part == "keys" else record.value) else None

    def apply_batch(self, batch: B) -> B:
        values: Values = getattr(batch, self.part)
        passes = self._passes
        rows = [row for row, value in enumerate(values.to_list()) if passes(value)]
        return batch if len(rows) == len(batch) else batch.take(rows)

    def _passes(self, value: Any) -> bool:
        if value is not None and not isinstance(value, dict | list | tuple):
            raise DataError(
                f'The path "{self._path.text}" (filter.condition) needs a struct, map or list, but the '
                f"{self.part[:-1]} is {type(value).__name__}."
            )
        path = self._path
        start = path.one(value)
        if start is not None:
            return (path.is_definite or bool(path.all(value))) is self._include
        if self._missing is None:
            raise DataError(
                f'The {self.part[:-1]} has nothing, or null, at "{path.text}" (filter.condition). '
                "Set missing.or.null.behavior=include or exclude."
            )
        return self._missing


class FilterByPathKey(FilterByPath):
    """Confluent's Filter$Key."""

    part = "keys"


class FilterByPathValue(FilterByPath):
    """Confluent's Filter$Value."""
