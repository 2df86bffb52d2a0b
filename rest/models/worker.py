"""What the REST interface says of a worker and of errors."""

from __future__ import annotations

import msgspec


class ServerInfo(msgspec.Struct):
    """GET /."""

    version: str
    commit: str
    kafka_cluster_id: str | None


class HealthInfo(msgspec.Struct):
    """GET /health (KIP-1017)."""

    status: str
    message: str


class CallerRights(msgspec.Struct):
    """GET /rights: what the caller may do.

    Attributes:
        user: as roles name them; None without logins.
        role: the highest for the connector that was asked about, else for all connectors; None for no role.
        somewhere: the highest for any connector.
    """

    user: str | None
    role: str | None
    somewhere: str | None


class Unreachable(msgspec.Struct):
    """A worker that was to tell what it measures, and did not."""

    worker_id: str
    error: str


class Logger(msgspec.Struct):
    """The level of a logger, and when it was changed: milliseconds since the epoch."""

    level: str
    last_modified: int | None


class Level(msgspec.Struct):
    """PUT /admin/loggers/{logger}."""

    level: str


class Error(msgspec.Struct):
    """Every answer that is not success."""

    error_code: int
    message: str
