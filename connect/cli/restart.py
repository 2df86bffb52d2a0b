"""`connect restart`: connectors, their tasks, or only what failed (KIP-745)."""

import argparse

from connect.cli._connectors import each
from connect.cli._rest_client import RestClient, add_options
from connect.errors import ConfigError

HELP = """\
Restart connectors. Without options only the connector itself: its tasks run on.

examples:
  connect restart orders                           the connector, not its tasks
  connect restart orders --tasks                   with its tasks
  connect restart orders --tasks --failed          only those of them that failed
  connect restart orders --task 0                  one task"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("connectors", nargs="+", metavar="CONNECTOR")
    parser.add_argument("--tasks", action="store_true", help="its tasks too")
    parser.add_argument("--failed", action="store_true", help="only what failed")
    parser.add_argument("--task", type=int, metavar="N", help="this task alone")
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Request it for each connector."""
    if args.task is not None and (args.tasks or args.failed):
        raise ConfigError("--task", "restarts one task, whatever its state. Remove --tasks and --failed.")
    what = "is told to restart" if args.task is None else f"is told to restart task {args.task}"

    def restart(client: RestClient, name: str) -> None:
        if args.task is None:
            includes = {"includeTasks": _query(args.tasks), "onlyFailed": _query(args.failed)}
            client.post("connectors", name, "restart", **includes)
        else:
            # Java's standalone worker does not refuse a task that is not there: it makes one, which fails.
            client.get("connectors", name, "tasks", str(args.task), "status")
            client.post("connectors", name, "tasks", str(args.task), "restart")

    return each(args, what, restart)


def _query(flag: bool) -> str:
    return "true" if flag else "false"
