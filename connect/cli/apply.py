"""`connect apply`: make connectors of a cluster what files say, after showing the difference."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from connect.cli._connectors import agree, print_json
from connect.cli._diff import Change, changes
from connect.cli._exit import FAILED, OK
from connect.cli._files import FORMS, add_files, check, invalid, read_files, stored, to_send, warn
from connect.cli._problems import Problems
from connect.cli._rest_client import AnswerError, RestClient, add_options, client_of
from connect.settings.connector_files import ConnectorFile

HELP = f"""\
Create or update connectors from files. First the cluster validates all of them and the differences are shown; only
then, and only if you agree, is anything changed. Keys that a file does not have are removed from its connector.
{FORMS}

examples:
  connect apply -f orders.json --dry-run           show what would change
  connect apply -f orders.json                     show it, ask, do it
  connect apply -f connectors/*.json --yes         for scripts
  connect get orders --json > orders.json          a file to change and apply"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    add_files(parser)
    parser.add_argument("--dry-run", action="store_true", help="validate and show the differences, change nothing")
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask")
    add_options(parser)


@dataclass
class _Plan:
    """What a file does to its connector."""

    file: ConnectorFile
    config: dict[str, str] = field(repr=False)
    is_new: bool
    changes: Sequence[Change]

    @property
    def action(self) -> str:
        """In one word."""
        return "create" if self.is_new else "update" if self.changes else "unchanged"

    def carry_out(self, client: RestClient) -> None:
        """Do it."""
        name, state = self.file.name, self.file.initial_state
        if self.is_new and state:
            client.post("connectors", body={"name": name, "config": self.config, "initial_state": state})
        else:
            client.put("connectors", name, "config", body=self.config)

    def for_programs(self) -> dict[str, Any]:
        """As JSON."""
        return {"name": self.file.name, "action": self.action, "changes": [asdict(change) for change in self.changes]}


def run(args: argparse.Namespace) -> int:
    """Show, ask, do."""
    problems = Problems(args.files)
    files = read_files(args.files, problems)
    client = client_of(args)
    plans = [_plan(client, file, problems) for file in files]
    warn(problems)
    if problems.errors():
        return invalid(problems, "nothing was changed")
    if not args.json:
        _show(plans)
    wanted = [plan for plan in plans if plan.action != "unchanged"]
    outcomes = {plan.file.name: plan.for_programs() for plan in plans}
    code = OK
    if wanted and not args.dry_run:
        if not agree(_question(wanted, client), args):
            print("connect: nothing was changed.", file=sys.stderr)
            return FAILED
        for plan in wanted:
            try:
                plan.carry_out(client)
            except AnswerError as error:
                outcomes[plan.file.name]["error"] = str(error)
                print(f"connect: {plan.file.name}: {error}", file=sys.stderr)
                code = max(code, error.exit_code)
            else:
                if not args.json:
                    print(f"{plan.file.name} {plan.action}d")
    if args.json:
        print_json(list(outcomes.values()))
    return code


def _plan(client: RestClient, file: ConnectorFile, problems: Problems) -> _Plan:
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
    return _Plan(file, config, before is None, changes(before or {}, config, secret))


def _show(plans: Sequence[_Plan]) -> None:
    for plan in plans:
        print(f"{plan.file.name}: {plan.action}")
        for change in plan.changes:
            print(f"  {change}")


def _question(wanted: Sequence[_Plan], client: RestClient) -> str:
    actions = [plan.action for plan in wanted]
    counts = [f"{actions.count(action)} to {action}" for action in ("create", "update") if action in actions]
    return f"Change connectors at {client.address} ({', '.join(counts)})?"
