"""`connect status`: the status of connectors and their tasks, once or continuously."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Sequence
from typing import Any, NoReturn

from connect.cli._connectors import print_json
from connect.cli._exit import FAILED, OK
from connect.cli._overview import overview
from connect.cli._rest_client import AnswerError, RestClient, UnreachableError, add_options, client_of
from connect.cli._statuses import measured_of, reason, statuses_of
from connect.cli._summary import lines
from connect.cli._table import shows_colours, table
from connect.connector_states import parts

HELP = """\
Show the state of connectors and of each of their tasks, and why they failed. All connectors unless some are named. Exit
code 1 when one has failed. With --watch a terminal shows rates, lag and errors as well, what failed first; with names
each task.

examples:
  connect status                                   every connector
  connect status --watch                           all of them, a line each, every second
  connect status orders --watch                    go on showing it, until Ctrl-C
  connect status orders > /dev/null || alarm       for scripts"""

_EVERY_S = 1.0
#: With thousands of connectors an answer takes its time: the next is asked for after so many times that.
_SHARE = 4.0
_NOTHING = "no connectors; make one with: connect apply -f FILE"
_CLEAR = "\x1b[H\x1b[J"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("connectors", nargs="*", metavar="CONNECTOR")
    parser.add_argument("--watch", "-w", action="store_true", help="show every change, until Ctrl-C")
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print the table."""
    client = client_of(args)
    if args.watch:
        _watch(client, args.connectors, as_json=args.json)
    statuses = statuses_of(client, args.connectors)
    if args.json:
        print_json(statuses)
    else:
        print(_text(statuses))
    return FAILED if any(part["state"] == "FAILED" for status in statuses for part in parts(status)) else OK


def _watch(client: RestClient, names: Sequence[str], *, as_json: bool) -> NoReturn:
    """Print changes; on a terminal redraw in place. Ends by Ctrl-C, or by an error at first."""
    in_place = sys.stdout.isatty() and not as_json
    shown: str | None = None
    said = ""  # the last error, until there is an answer again
    while True:
        began = time.monotonic()
        try:
            now = _screen(client, names) if in_place else _changes(client, names, as_json=as_json)
        except (UnreachableError, AnswerError) as error:
            if shown is None:
                raise
            # It may be back in a moment: a worker restarts, a connector is recreated.
            if str(error) != said:
                said = str(error)
                print(f"connect: {said}", file=sys.stderr)
        else:
            if now != shown or (said and not as_json):
                apart = "" if in_place or as_json or shown is None else "\n"
                print(f"{_CLEAR if in_place else apart}{now}", flush=True)
                shown = now
            said = ""
        time.sleep(max(_EVERY_S, _SHARE * (time.monotonic() - began)))


def _changes(client: RestClient, names: Sequence[str], *, as_json: bool) -> str:
    """Only states: figures change all the time."""
    statuses = statuses_of(client, names)
    return json.dumps(statuses, ensure_ascii=False) if as_json else _text(statuses)


def _screen(client: RestClient, names: Sequence[str]) -> str:
    """As much as fits on the terminal."""
    statuses, metrics = measured_of(client, names)
    if not statuses:
        return _NOTHING
    size = shutil.get_terminal_size()
    found = overview(statuses, metrics, tasks=bool(names))
    # The last line stays free: printing there would scroll.
    return "\n".join(lines(found, size.columns, max(2, size.lines - 1), colour=shows_colours()))


def _text(statuses: Sequence[dict[str, Any]]) -> str:
    if not statuses:
        return _NOTHING
    rows = [
        (status["name"], part.get("id", ""), part["state"], part["worker_id"], reason(part))
        for status in statuses
        for part in parts(status)
    ]
    return table(["CONNECTOR", "TASK", "STATE", "WORKER", "REASON"], rows)
