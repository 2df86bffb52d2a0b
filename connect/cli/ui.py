"""`connect ui`: the operations page for any cluster, served on this machine only."""

from __future__ import annotations

import argparse
import socket
import sys
from importlib.util import find_spec

from connect.cli._connectors import print_json
from connect.cli._rest_client import add_options, client_of
from connect.errors import ConfigError, ConnectError

HELP = """\
Serve the operations page for a cluster that has none of its own, such as one of Java workers. The page is for this
machine alone, and asks the cluster with the login that this command was given. Ctrl-C ends it.

Workers of this project serve the same page themselves, at /ui.

examples:
  connect ui --url http://worker1:8083             then open http://localhost:8090/ui
  connect ui --url https://worker1:8083 --user ada --port 9000"""

_PORT = 8090


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--port", type=int, default=_PORT, metavar="PORT", help="where it listens (default: %(default)s; 0: any)"
    )
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    if any(find_spec(name) is None for name in ("fastapi", "uvicorn", "jinja2")):
        raise ConnectError("The page needs more packages: pip install 'connect-runtime[rest]'")
    client = client_of(args)
    client.get()  # a wrong address or login is said now, not on the page
    client.is_of_java()
    listening = _listen(args.port)
    page = f"http://localhost:{listening.getsockname()[1]}/ui"
    if args.json:
        print_json({"page": page, "cluster": client.address})
    else:
        print(f"{page} shows {client.address}. Ctrl-C ends it.")
    sys.stdout.flush()
    from connect.cli._ui_server import serve

    return serve(client, listening)


def _listen(port: int) -> socket.socket:
    """On the loopback address: anybody who can reach the page acts with the login of this command."""
    try:
        return socket.create_server(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        raise ConfigError("--port", f"{port} cannot be listened on: {error}. Choose another one.") from error
