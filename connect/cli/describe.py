"""`connect describe`: everything about one connector."""

import argparse
from typing import Any

from connect.cli import _secrets
from connect.cli._connectors import declared_secrets, print_json
from connect.cli._exit import OK
from connect.cli._rest_client import AnswerError, RestClient, add_options, client_of
from connect.cli._statuses import reason, status_of
from connect.cli._table import coloured, plain, table
from connect.connector_states import parts

HELP = """\
Show all about one connector: its state and its tasks', the topics it used, its configuration, and the traces of what
failed.

examples:
  connect describe orders
  connect describe orders --json"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("connector", metavar="CONNECTOR")
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print it."""
    client = client_of(args)
    info = client.get("connectors", args.connector)
    config = _secrets.all_shown(info["config"], declared_secrets(client, info["config"]))
    status = status_of(client, args.connector)
    topics = _topics(client, args.connector)
    if args.json:
        print_json({"name": args.connector, "type": info["type"], "config": config, "status": status, "topics": topics})
    else:
        print("\n".join(_lines(info, config, status, topics)))
    return OK


def _topics(client: RestClient, name: str) -> list[str] | None:
    """The topics that it has read or written; None where the cluster does not track them."""
    try:
        return sorted(client.get("connectors", name, "topics")[name]["topics"])
    except AnswerError as error:
        if error.status == 403:
            return None
        raise


def _lines(info: dict[str, Any], config: dict[str, str], status: dict[str, Any], topics: list[str] | None) -> list[str]:
    connector, tasks = status["connector"], status["tasks"]
    version = connector.get("version")
    lines = [
        f"connector  {plain(info['name'])}",
        f"class      {plain(config.get('connector.class', ''))}{f' {version}' if version else ''} ({info['type']})",
        f"state      {coloured(connector['state'])} on {plain(connector['worker_id'])}",
        f"topics     {'not tracked' if topics is None else plain(', '.join(topics)) or 'none yet'}",
        "",
    ]
    if tasks:
        lines += [table(["TASK", "STATE", "WORKER"], [(one["id"], one["state"], one["worker_id"]) for one in tasks])]
    else:
        lines += ["no tasks"]
    lines += ["", table(["KEY", "VALUE"], sorted(config.items()))]
    for part in parts(status):
        if "waiting" in part:
            lines += ["", f"task {part['id']} waits {plain(reason(part))}"]
        if part.get("trace"):
            of = f"task {part['id']}" if "id" in part else "the connector"
            did = "stands still" if part["state"] == "STALLED" else "failed"
            lines += ["", f"why {of} {did}", *(f"  {plain(line)}" for line in part["trace"].strip().splitlines())]
    return lines
