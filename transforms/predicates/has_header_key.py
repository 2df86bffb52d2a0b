"""Records that have a header of a name: HasHeaderKey."""

from __future__ import annotations

from typing import Any

from connect import Batch, Headers, Predicate, settings
from connect.settings import Config


class HasHeaderKey(Predicate):
    """True for records with at least one header of the name."""

    settings = settings.define(
        settings.String("name", validator=settings.non_empty, doc="The name of the header, letter by letter.")
    )

    def configure(self, config: Config) -> None:
        self._name = config["name"]

    def test(self, record: Any) -> bool:
        return self._has(record.headers)

    def test_batch(self, batch: Batch[Any]) -> list[bool]:
        headers = batch.headers
        if headers.constant and len(headers):
            return [self._has(headers[0])] * len(headers)
        return list(map(self._has, headers))

    def _has(self, headers: Headers) -> bool:
        name = self._name
        return any(header.key == name for header in headers)
