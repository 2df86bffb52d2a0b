"""`connect pause`, `resume` and `stop`: what a connector shall do, which the cluster then brings about."""

import argparse
from typing import Final

from connect.cli._connectors import each
from connect.cli._rest_client import add_options


class Order:
    """A command that orders the same of each connector.

    Args:
        name: of the command, and of the resource that takes the order.
        told: what becomes of a connector, as the command says it.
        does: what comes of the order, for the help.
    """

    def __init__(self, name: str, told: str, does: str) -> None:
        self._name = name
        self._told = told
        self.HELP = f"""\
{does}
Returns when the cluster has accepted the request; connect status shows when it is done.

examples:
  connect {name} orders
  connect {name} orders customers"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Declare what the command takes."""
        parser.add_argument("connectors", nargs="+", metavar="CONNECTOR")
        add_options(parser)

    def run(self, args: argparse.Namespace) -> int:
        """Order it for each connector."""
        return each(args, self._told, lambda client, name: client.put("connectors", name, self._name))


pause: Final = Order(
    "pause",
    "is told to pause",
    "Pause connectors: they move no records until they are resumed. Their tasks stay and keep what they hold.",
)
resume: Final = Order("resume", "is told to run", "Resume connectors that were paused or stopped.")
stop: Final = Order(
    "stop",
    "is told to stop",
    "Stop connectors and end their tasks. Their configurations and offsets stay. Offsets can be changed only then.",
)
