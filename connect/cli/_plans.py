"""What files do to the connectors of a cluster: planned, shown, and done, each by itself."""

from __future__ import annotations

import argparse
import fnmatch
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from connect.cli._diff import Change, changes
from connect.cli._files import check, read_files, stored, to_send
from connect.cli._problems import Problems
from connect.cli._rest_client import RestClient
from connect.settings.connector_files import ConnectorFile

_DONE = {"create": "created", "update": "updated", "delete": "deleted"}


@dataclass
class Plan:
    """The plan for one connector.

    Attributes:
        name: of the connector.
        action: create, update, delete or unchanged.
        file: its configuration; None where it is deleted.
        config: what is sent.
        changes: the keys that differ.
    """

    name: str
    action: str
    file: ConnectorFile | None = None
    config: dict[str, str] = field(default_factory=dict, repr=False)
    changes: Sequence[Change] = ()

    @property
    def done(self) -> str:
        """The result in one word."""
        return _DONE[self.action]

    def carry_out(self, client: RestClient) -> None:
        """Do it."""
        if self.file is None:
            client.delete("connectors", self.name)
        elif self.action == "create" and self.file.initial_state:
            body = {"name": self.name, "config": self.config, "initial_state": self.file.initial_state}
            client.post("connectors", body=body)
        else:
            client.put("connectors", self.name, "config", body=self.config)

    def for_programs(self) -> dict[str, Any]:
        """As JSON."""
        found: dict[str, Any] = {"name": self.name, "action": self.action}
        if self.file is not None:
            found["file"] = self.file.path
        return {**found, "changes": [asdict(change) for change in self.changes]}


def add_prune(parser: argparse.ArgumentParser) -> None:
    """Declare --prune."""
    parser.add_argument(
        "--prune",
        action="append",
        default=[],
        metavar="NAMES",
        help="delete the cluster's connectors with such names that no file has: a pattern such as 'orders-*' or '*'",
    )


def plans(client: RestClient, args: argparse.Namespace) -> tuple[list[Plan], Problems]:
    """The plans for the files of `args`, and their problems. Changes nothing."""
    files, problems = read_files(args)
    found = [_plan(client, file, problems) for file in files]
    if args.prune:
        known = {file.name for file in files}
        gone = (name for name in sorted(client.get("connectors")) if name not in known)
        found += [
            Plan(name, "delete") for name in gone if any(fnmatch.fnmatchcase(name, pattern) for pattern in args.prune)
        ]
    return found, problems


def show(found: Sequence[Plan]) -> None:
    """Print them, with the keys that differ."""
    for plan in found:
        print(f"{plan.name}: {plan.action}")
        for change in plan.changes:
            print(f"  {change}")


def counted(found: Sequence[Plan]) -> str:
    """The number of each action, such as "1 to create, 2 to update"."""
    actions = [plan.action for plan in found]
    return ", ".join(f"{actions.count(action)} to {action}" for action in _DONE if action in actions)


def _plan(client: RestClient, file: ConnectorFile, problems: Problems) -> Plan:
    before = stored(client, file.name)
    config = to_send(file, before, problems)
    secret = check(client, file, config, problems)
    if before is not None and file.initial_state:
        problems.warn(
            file.path,
            "counts only when a connector is created, and this one exists. Use pause, resume or stop.",
            key="initial_state",
            connector=file.name,
        )
    differing = changes(before or {}, config, secret)
    return Plan(
        file.name, "create" if before is None else "update" if differing else "unchanged", file, config, differing
    )
