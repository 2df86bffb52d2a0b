"""`connect delete`: remove connectors from a cluster."""

import argparse

from connect.cli._connectors import agree, each
from connect.cli._exit import FAILED
from connect.cli._rest_client import add_options

HELP = """\
Delete connectors with their tasks and configurations. Their offsets stay in Kafka: a source of the same name continues
where this one stopped. To forget them, stop the connector and reset its offsets first.

examples:
  connect delete orders                            asks first
  connect delete orders customers --yes            for scripts"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("connectors", nargs="+", metavar="CONNECTOR")
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask")
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Confirm, and delete each."""
    if not agree(f"Delete {', '.join(args.connectors)}?", args):
        return FAILED
    return each(args, "is deleted", lambda client, name: client.delete("connectors", name))
