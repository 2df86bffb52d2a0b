"""What it says of the versions of a configuration."""

from __future__ import annotations

import msgspec


class ChangedKeys(msgspec.Struct):
    """The keys of a configuration that a version added, changed and removed."""

    added: list[str] = []
    changed: list[str] = []
    removed: list[str] = []


class HistoryVersionInfo(msgspec.Struct):
    """One version of a configuration. `at` in ms since the epoch; `by` is null without logins, or if it is unknown."""

    version: int
    at: int | None
    by: str | None
    deleted: bool
    changes: ChangedKeys


class History(msgspec.Struct):
    """GET /connectors/{connector}/history."""

    versions: list[HistoryVersionInfo]


class ChangedKey(msgspec.Struct):
    """A key that differs between two versions. Secrets are masked, so both values may look the same."""

    key: str
    before: str | None
    after: str | None


class HistoryVersion(HistoryVersionInfo):
    """GET /connectors/{connector}/history/{version}. `config` is null where the connector was deleted.

    `since` is the version that it is compared with; null for the first one.
    """

    since: int | None
    config: dict[str, str] | None
    differences: list[ChangedKey]
