"""`connect stop`: what a connector shall do, which the cluster then brings about."""

import argparse

from connect.cli._connectors import each
from connect.cli._rest_client import add_options

HELP = """\
Stop a connector and end its tasks. Its configuration and offsets stay; only now its offsets may be changed.
Returns when the cluster has taken the order; connect status says when it is done.

examples:
  connect stop orders
  connect stop orders customers"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("connectors", nargs="+", metavar="CONNECTOR")
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Order it for each connector."""
    return each(args, "is told to stop", lambda client, name: client.put("connectors", name, "stop"))
