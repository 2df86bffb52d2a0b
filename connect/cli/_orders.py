"""`connect pause`, `resume` and `stop`: the desired state of connectors, which the cluster then brings about."""

import argparse
from typing import Final

from connect.cli._connectors import each
from connect.cli._rest_client import add_options


class Order:
    """A command that sets the same desired state for each connector.

    Args:
        name: of the command, and of the REST resource.
        told: what happens to a connector, in the command's words.
        does: the effect, for the help.
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
        """Set it for each connector."""
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
