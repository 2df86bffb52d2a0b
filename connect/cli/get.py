"""`connect get`: the configuration of one connector."""

import argparse

from connect.cli import _secrets
from connect.cli._connectors import declared_secrets, print_json
from connect.cli._exit import OK
from connect.cli._rest_client import add_options, client_of
from connect.cli._table import table

HELP = """\
Show the configuration of one connector. Secrets are shown as [hidden]; apply keeps the stored value for that, so the
output of --json can be changed and applied.

examples:
  connect get orders                               for reading
  connect get orders --json > orders.json          for changing: then connect apply -f orders.json"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("connector", metavar="CONNECTOR")
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print it."""
    client = client_of(args)
    config = client.get("connectors", args.connector, "config")
    shown = _secrets.all_shown(config, declared_secrets(client, config))
    if args.json:
        print_json({"name": args.connector, "config": shown})
    else:
        print(table(["KEY", "VALUE"], sorted(shown.items())))
    return OK
