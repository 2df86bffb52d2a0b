"""`connect list`: the connectors of a cluster, a line each."""

import argparse
from typing import Any

from connect.cli._connectors import print_json
from connect.cli._exit import OK
from connect.cli._rest_client import add_options, client_of
from connect.cli._table import table

HELP = """\
List the connectors of a running cluster with their state.

examples:
  connect list                                     the cluster of CONNECT_URL, or of this machine
  connect list --url http://worker1:8083           another one
  connect list --json | jq -r '.[].name'           for scripts"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print the table."""
    found = client_of(args).get("connectors", expand=["status", "info"], stalled="true")
    connectors = [_entry(name, found[name]) for name in sorted(found)]
    if args.json:
        print_json(connectors)
    elif connectors:
        rows = [(one["name"], one["type"], one["state"], _tasks(one["tasks"]), one["class"]) for one in connectors]
        print(table(["NAME", "TYPE", "STATE", "TASKS", "CLASS"], rows))
    else:
        print("no connectors; make one with: connect apply -f FILE")
    return OK


def _entry(name: str, found: dict[str, Any]) -> dict[str, Any]:
    # What has just been made has no status yet, what is being deleted no info.
    status, info = found.get("status") or {}, found.get("info") or {}
    return {
        "name": name,
        "type": info.get("type") or status.get("type") or "unknown",
        "class": (info.get("config") or {}).get("connector.class", ""),
        "state": (status.get("connector") or {}).get("state", "UNASSIGNED"),
        "tasks": [task["state"] for task in status.get("tasks") or []],
    }


def _tasks(states: list[str]) -> str:
    """2/3 running, 1 failed."""
    if not states:
        return "none"
    others = {state: states.count(state) for state in sorted(set(states)) if state != "RUNNING"}
    running = f"{states.count('RUNNING')}/{len(states)} running"
    return ", ".join([running, *(f"{count} {state.lower()}" for state, count in others.items())])
