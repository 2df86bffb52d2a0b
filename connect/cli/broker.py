"""`connect broker`: Apache Kafka on this machine."""

import argparse
import json
import os
import sys
import time
from collections import deque
from pathlib import Path
from typing import TextIO

from connect.cli._exit import FAILED, OK, UNREACHABLE
from connect.kafka.broker import embedded

HELP = """\
Run the real Apache Kafka on this machine: one node, reachable from this machine only, its data in a folder that
survives. It runs in the background until it is stopped. A worker with bootstrap.servers=embedded starts it
automatically.

examples:
  connect broker start                       start it, or say where it runs
  connect broker start --port 19092          on another port; it is remembered
  connect broker status --json               for scripts; exit code 3 when it does not run
  connect broker logs --follow               watch its log
  connect broker stop"""

_LOOK_EVERY_S = 0.2


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare start, stop, status and logs."""
    folder = argparse.ArgumentParser(add_help=False)
    folder.add_argument(
        "--data",
        type=Path,
        default=embedded.default_data(),
        metavar="DIR",
        help="the folder of the broker's data (default: %(default)s)",
    )
    folder.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)
    actions = parser.add_subparsers(metavar="ACTION", title="actions", required=True)

    start = actions.add_parser("start", parents=[folder], help="start it and wait until it serves")
    start.add_argument("--port", type=_port, help="where it listens (default: as before, at first 9092)")
    start.add_argument("--json", action="store_true", help="print the answer as JSON")
    start.set_defaults(action=_start)

    stop = actions.add_parser("stop", parents=[folder], help="stop it and wait for its end")
    stop.set_defaults(action=_stop)

    status = actions.add_parser("status", parents=[folder], help="say whether and where it runs")
    status.add_argument("--json", action="store_true", help="print the answer as JSON")
    status.set_defaults(action=_status)

    logs = actions.add_parser("logs", parents=[folder], help="show the end of its log")
    logs.add_argument("--lines", "-n", type=int, default=50, metavar="N", help="how many lines (default: %(default)s)")
    logs.add_argument("--follow", "-f", action="store_true", help="follow the log, until Ctrl-C")
    logs.set_defaults(action=_logs)


def run(args: argparse.Namespace) -> int:
    """Run the subcommand."""
    code: int = args.action(args)
    return code


def _start(args: argparse.Namespace) -> int:
    before = embedded.status(args.data)
    started = time.monotonic()
    broker = embedded.ensure_running(args.data, port=args.port)
    if args.json:
        print(_as_json(broker))
    elif before:
        print(f"Apache Kafka runs already on {broker.bootstrap_servers} (process {broker.pid})")
    else:
        print(
            f"Apache Kafka runs on {broker.bootstrap_servers} (process {broker.pid}, "
            f"ready in {time.monotonic() - started:.1f} s, data in {broker.data})"
        )
    return OK


def _stop(args: argparse.Namespace) -> int:
    print("stopped" if embedded.stop(args.data) else f"no broker was running in {args.data}")
    return OK


def _status(args: argparse.Namespace) -> int:
    broker = embedded.status(args.data)
    if args.json:
        print(_as_json(broker))
    elif broker:
        print(f"Apache Kafka runs on {broker.bootstrap_servers} (process {broker.pid}, data in {broker.data})")
    elif embedded.ended_by_itself(args.data):
        print(f"not running: it ended without being stopped; connect broker logs --data {args.data} says why")
    else:
        print(f"not running (data in {args.data}); start it with: connect broker start --data {args.data}")
    return OK if broker else UNREACHABLE


def _logs(args: argparse.Namespace) -> int:
    path = args.data / "broker.log"
    if not path.exists():
        print(f"connect: no broker has run in {args.data}, so there is no log", file=sys.stderr)
        return FAILED
    lines: int | None = max(args.lines, 0)
    while True:
        with path.open(encoding="utf-8", errors="replace") as log:
            sys.stdout.writelines(deque(log, maxlen=lines))
            sys.stdout.flush()
            if not args.follow:
                return OK
            replaced = False
            while not replaced:
                time.sleep(_LOOK_EVERY_S)
                replaced = _is_replaced(path, log)  # before reading: so the last lines are read, too
                sys.stdout.writelines(log)
                sys.stdout.flush()
        lines = None  # all of the next broker's log


def _is_replaced(path: Path, log: TextIO) -> bool:
    """Whether another broker has been started since, which has begun a new log."""
    try:
        return not os.path.samestat(path.stat(), os.fstat(log.fileno()))
    except FileNotFoundError:
        return False  # not yet


def _as_json(broker: embedded.Broker | None) -> str:
    if broker is None:
        return json.dumps({"running": False})
    return json.dumps(
        {
            "running": True,
            "bootstrap.servers": broker.bootstrap_servers,
            "pid": broker.pid,
            "data": str(broker.data),
            "log": str(broker.log),
        }
    )


def _port(text: str) -> int:
    if text.isdecimal() and int(text) < 65536:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a port: write a number from 1 to 65535, or 0 for any free one")
