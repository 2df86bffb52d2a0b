"""`connect apply`: make the connectors of a cluster what files say, after showing the difference."""

from __future__ import annotations

import argparse
import sys

from connect.cli._connectors import agree, print_json
from connect.cli._exit import FAILED, OK
from connect.cli._files import FORMS, add_files, invalid, warn
from connect.cli._plans import add_prune, counted, plans, show
from connect.cli._rest_client import AnswerError, add_options, client_of

HELP = f"""\
Create or update connectors from files. First the cluster validates all of them and the differences are shown; only
then, and only if you agree, is anything changed. Keys that a file does not have are removed from its connector.
{FORMS}

examples:
  connect apply -f orders.json --dry-run           show what would change
  connect apply -f orders.json                     show it, ask, do it
  connect apply -f connectors/*.json --yes         for scripts
  connect apply -f pipelines/ --values prod.yaml --prune 'orders-*'
                                                   a folder, and deletes orders-* that no file has
  connect get orders --json > orders.json          a file to change and apply"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_files(parser)
    add_prune(parser)
    parser.add_argument("--dry-run", action="store_true", help="validate and show the differences, change nothing")
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask")
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Show the difference, confirm, apply."""
    client = client_of(args)
    found, problems = plans(client, args)
    warn(problems)
    if problems.errors():
        return invalid(problems, "nothing was changed")
    if not args.json:
        show(found)
    wanted = [plan for plan in found if plan.action != "unchanged"]
    outcomes = {plan.name: plan.for_programs() for plan in found}
    code = OK
    if wanted and not args.dry_run:
        if not agree(f"Change connectors at {client.address} ({counted(wanted)})?", args):
            print("connect: nothing was changed.", file=sys.stderr)
            return FAILED
        for plan in wanted:
            try:
                plan.carry_out(client)
            except AnswerError as error:
                outcomes[plan.name]["error"] = str(error)
                print(f"connect: {plan.name}: {error}", file=sys.stderr)
                code = max(code, error.exit_code)
            else:
                if not args.json:
                    print(f"{plan.name} {plan.done}")
    if args.json:
        print_json(list(outcomes.values()))
    return code
