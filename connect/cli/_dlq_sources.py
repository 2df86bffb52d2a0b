"""Where `connect dlq` finds dead letters: through a worker, or by reading the topic itself.

Both return what the REST interface returns, as builtins.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from connect.cli._dlq_text import data_of
from connect.cli._rest_client import RestClient, client_of, not_of_java
from connect.errors import ConfigError
from connect.telemetry.redaction import MASK

if TYPE_CHECKING:
    from connect.cli._pipelines import WorkerSettings
    from connect.herder.dead_letters import DeadLetters, Wanted

#: since, until, stage, error, fingerprint, key: those that are given.
Filter = Mapping[str, Any]


class Letters(Protocol):
    """The dead letters of one connector, or of one topic."""

    def page(self, wanted: Filter, limit: int, after: str | None) -> dict[str, Any]:
        """Some, newest first."""

    def groups(self, wanted: Filter) -> dict[str, Any]:
        """All, grouped by error."""

    def one(self, partition: int, offset: int) -> dict[str, Any]:
        """One, whole."""

    def replay(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Replay some. The request has the form of REST: see `rest.models.Replay`."""

    def config(self) -> dict[str, str]:
        """The connector's configuration, as far as it is known."""

    def close(self) -> None:
        """Close what was opened."""


def letters_of(args: argparse.Namespace) -> Letters:
    """The source that the command line names. Raises ConfigError."""
    if bool(args.connector) == bool(args.topic):
        raise ConfigError("CONNECTOR", "name a connector, or with --topic the topic of dead letters; one of the two.")
    if args.worker_config or args.bootstrap_server:
        return _Read(args)
    if args.topic:
        raise ConfigError("--topic", "the command reads this topic itself: add --bootstrap-server, or --worker-config.")
    return _Asked(client_of(args), args.connector)


class _Asked:
    """Through a worker of the connector's pool, with its rights in Kafka."""

    def __init__(self, client: RestClient, connector: str) -> None:
        self._client = client
        self._path = ("connectors", connector)

    def page(self, wanted: Filter, limit: int, after: str | None) -> dict[str, Any]:
        more = {"limit": limit, **({"after": after} if after else {})}
        return self._ask("GET", (), {**wanted, **more})

    def groups(self, wanted: Filter) -> dict[str, Any]:
        return self._ask("GET", ("groups",), wanted)

    def one(self, partition: int, offset: int) -> dict[str, Any]:
        return self._ask("GET", (str(partition), str(offset)))

    def replay(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return self._ask("POST", ("replay",), body=dict(request))

    def config(self) -> dict[str, str]:
        found: dict[str, str] = self._client.get(*self._path, "config")
        return found

    def close(self) -> None:
        pass

    def _ask(
        self, method: str, path: tuple[str, ...], query: Filter | None = None, body: object = None
    ) -> dict[str, Any]:
        texts = {key: str(value) for key, value in (query or {}).items()}
        instead = "Read the topic from here: add --bootstrap-server, or --worker-config."
        with not_of_java(self._client, "does not show dead letters", instead):
            found: dict[str, Any] = self._client.request(method, (*self._path, "dlq", *path), body, texts)
        return found


class _Read:
    """The topic itself, with the worker's client settings and the connector's."""

    def __init__(self, args: argparse.Namespace) -> None:
        from connect.cli._pipelines import WorkerSettings
        from connect.herder.dead_letters import DeadLetters

        worker = WorkerSettings.read(args.worker_config)
        self._config = _config(args, worker)
        self._letters: DeadLetters = DeadLetters(
            worker.with_brokers(args.bootstrap_server), self._config, args.topic, args.timeout
        )

    def page(self, wanted: Filter, limit: int, after: str | None) -> dict[str, Any]:
        return _plain(self._letters.page(self._wanted(wanted), limit, after))

    def groups(self, wanted: Filter) -> dict[str, Any]:
        return _plain(self._letters.groups(self._wanted(wanted)))

    def one(self, partition: int, offset: int) -> dict[str, Any]:
        return _plain(self._letters.one(partition, offset))

    def replay(self, request: Mapping[str, Any]) -> dict[str, Any]:
        from connect.herder.replay import MOST_REPLAYED, ReplayRequest, replay

        names = ("since", "until", "stage", "error", "fingerprint", "key")
        wanted = self._wanted(
            {name: request[name] for name in names if request.get(name) is not None}, request.get("places")
        )
        values = {(one["partition"], one["offset"]): data_of(one) for one in request.get("values", ())}
        made = ReplayRequest(
            wanted=wanted,
            limit=request.get("limit") or MOST_REPLAYED,
            to=request.get("to", "topic"),
            into=request.get("into"),
            put=request.get("set", {}),
            drop=request.get("unset", ()),
            values=values,
            dry_run=request.get("dry_run", False),
            again=request.get("again", False),
        )
        return _plain(replay(self._letters, made))

    def config(self) -> dict[str, str]:
        return self._config

    def close(self) -> None:
        self._letters.close()

    def _wanted(self, wanted: Filter, places: Sequence[Mapping[str, int]] | None = None) -> Wanted:
        from connect.herder.dead_letters import Wanted

        chosen = None if places is None else frozenset((one["partition"], one["offset"]) for one in places)
        return Wanted(**wanted, places=chosen, connector=self._config.get("name"))


def _config(args: argparse.Namespace, worker: WorkerSettings) -> dict[str, str]:
    """The connector's keys with variables filled in; none where only a topic is known."""
    if not args.connector:
        return {}
    if Path(args.connector).is_file():
        from connect.cli._pipeline_files import single

        return worker.resolved(single(args.connector).config)
    config: dict[str, str] = client_of(args).get("connectors", args.connector, "config")
    for key, value in config.items():
        if MASK in value and ".override." in key:
            message = "the cluster does not show it. Name the connector's file instead of its name."
            raise ConfigError(key, message)
    return worker.resolved({**config, "name": args.connector})


def _plain(found: msgspec.Struct) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(found)
    return plain
