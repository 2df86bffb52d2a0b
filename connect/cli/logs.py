"""`connect logs level`: the levels of a cluster's loggers (KIP-495, KIP-976)."""

import argparse
from datetime import UTC, datetime
from typing import Any

from connect.cli._connectors import print_json
from connect.cli._exit import OK
from connect.cli._rest_client import add_options, client_of
from connect.cli._table import table
from connect.errors import ConfigError

HELP = """\
Show and change the levels of a running cluster's loggers. A change lasts until the worker is restarted.

examples:
  connect logs level                                            of every logger
  connect logs level org.apache.kafka.connect                   of one
  connect logs level org.apache.kafka.connect DEBUG             set it on the worker that is asked
  connect logs level org.apache.kafka.connect DEBUG --cluster   on all workers"""

_LEVELS = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = parser.add_subparsers(metavar="ACTION", title="actions", required=True)
    level = actions.add_parser(
        "level",
        help="show or set levels",
        description=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    level.add_argument("logger", nargs="?", metavar="LOGGER", help="its name, or root")
    level.add_argument("level", nargs="?", metavar="LEVEL", type=str.upper, choices=_LEVELS, help=", ".join(_LEVELS))
    level.add_argument(
        "--cluster", action="store_true", help="set it on all workers, not only on the one that is asked"
    )
    level.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)
    add_options(level)


def run(args: argparse.Namespace) -> int:
    """Show, or set."""
    client = client_of(args)
    if args.level:
        scope = "cluster" if args.cluster else "worker"
        changed = client.put("admin", "loggers", args.logger, body={"level": args.level}, scope=scope)
        if args.json:
            print_json({"logger": args.logger, "level": args.level, "scope": scope, "changed": changed})
        else:
            where = "all workers" if args.cluster else f"the worker at {client.address}"
            print(f"{args.logger} logs {args.level} on {where}")
        return OK
    if args.cluster:
        raise ConfigError("--cluster", "is for setting a level. Name a logger and a level, or leave it out.")
    if args.logger:
        found = {args.logger: client.get("admin", "loggers", args.logger)}
    else:
        found = client.get("admin", "loggers")
    if args.json:
        print_json(found)
    else:
        rows = [(name, found[name]["level"], _when(found[name])) for name in sorted(found)]
        print(table(["LOGGER", "LEVEL", "CHANGED"], rows))
    return OK


def _when(logger: dict[str, Any]) -> str:
    changed = logger.get("last_modified")
    return datetime.fromtimestamp(changed / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if changed else ""
