"""Drop headers or add one: DropHeaders and InsertHeader.

https://kafka.apache.org/documentation/#org.apache.kafka.connect.transforms.DropHeaders
https://kafka.apache.org/documentation/#org.apache.kafka.connect.transforms.InsertHeader
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, TypeVar

from connect import Batch, Header, Headers, Transformation, settings
from connect.converters.values_parser import parse
from connect.data.column import Column, Constant, Plain
from connect.settings import Config
from transforms.structs import names

B = TypeVar("B", bound=Batch[Any])


class _HeadersTransformation(Transformation):
    """Changes headers and nothing else."""

    pure = True

    @abstractmethod
    def _changed(self, headers: Headers) -> Headers:
        """The new headers, or the same object."""

    def apply(self, record: Any) -> Any:
        headers = self._changed(record.headers)
        return record if headers is record.headers else record.replace(headers=headers)

    def apply_batch(self, batch: B) -> B:
        headers = _mapped(batch.headers, self._changed)
        return batch if headers is batch.headers else batch.with_columns(headers=headers)


def _mapped(column: Column[Headers], change: Any) -> Column[Headers]:
    if isinstance(column, Constant):
        changed = change(column.value) if len(column) else column.value
        return column if changed is column.value else Constant(changed, len(column))
    old = column.to_list()
    new = list(map(change, old))
    return column if all(a is b for a, b in zip(old, new, strict=True)) else Plain(new)


class DropHeaders(_HeadersTransformation):
    """Drops every header of the given names."""

    settings = settings.define(
        settings.List(
            "headers",
            importance="HIGH",
            validator=names,
            doc="The names of the headers to drop.",
        )
    )

    def configure(self, config: Config) -> None:
        self._names = frozenset(config["headers"])

    def _changed(self, headers: Headers) -> Headers:
        names = self._names
        kept = [header for header in headers if header.key not in names]
        return headers if len(kept) == len(headers) else Headers(kept)


class InsertHeader(_HeadersTransformation):
    """Adds a header with a fixed value after the existing ones."""

    settings = settings.define(
        settings.String("header", importance="HIGH", doc="The name of the header."),
        settings.String(
            "value.literal",
            importance="HIGH",
            doc="The value as text. Its type is inferred: 5 is a number, true a boolean, [1, 2] an array, 2020-01-31 a "
            "date.",
        ),
    )

    def configure(self, config: Config) -> None:
        found = parse(config["value.literal"])
        self._header = Header(config["header"], found.value, found.schema)

    def _changed(self, headers: Headers) -> Headers:
        return Headers((*headers, self._header))
