"""`connect status`: how connectors and their tasks are, once or as it changes."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from typing import Any, NoReturn

from connect.cli._connectors import print_json
from connect.cli._exit import FAILED, OK
from connect.cli._moments import in_words
from connect.cli._rest_client import AnswerError, RestClient, UnreachableError, add_options, client_of
from connect.cli._table import table
from connect.telemetry.redaction import redactor

HELP = """\
Show the state of connectors and of each of their tasks, and why they failed. All connectors unless some are named. Exit
code 1 when one has failed.

examples:
  connect status                                   every connector
  connect status orders --watch                    go on showing it, until Ctrl-C
  connect status orders > /dev/null || alarm       for scripts"""

_EVERY_S = 1.0
_CLEAR = "\x1b[H\x1b[J"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
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
    """Print what has changed; on a terminal in the place of what was there. Ends by Ctrl-C, or by an error at first."""
    in_place = sys.stdout.isatty() and not as_json
    shown: str | None = None
    while True:
        try:
            statuses = statuses_of(client, names)
            now = json.dumps(statuses, ensure_ascii=False) if as_json else _text(statuses)
        except (UnreachableError, AnswerError) as error:
            if shown is None:
                raise
            # It may be back in a moment: a worker restarts, a connector is made anew.
            print(f"connect: {error}", file=sys.stderr)
        else:
            if now != shown:
                apart = "" if in_place or as_json or shown is None else "\n"
                print(f"{_CLEAR if in_place else apart}{now}", flush=True)
                shown = now
        time.sleep(_EVERY_S)


def status_of(client: RestClient, name: str) -> dict[str, Any]:
    """How one connector is, as Kafka Connect says it and with tasks that stand still STALLED, without secrets."""
    return _redacted(client.get("connectors", name, "status", stalled="true"))


def statuses_of(client: RestClient, names: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Of these connectors; of all if there are none."""
    if names:
        return [status_of(client, name) for name in names]
    answer = client.get("connectors", expand="status", stalled="true")
    # What is being made or deleted has no status.
    return [_redacted(answer[name]["status"]) for name in sorted(answer) if answer[name].get("status")]


def _redacted(status: dict[str, Any]) -> dict[str, Any]:
    for part in parts(status):
        if "trace" in part:
            part["trace"] = redactor.redact(part["trace"])
        if "waiting" in part:
            part["waiting"]["reason"] = redactor.redact(part["waiting"]["reason"])
    return status


def parts(status: dict[str, Any]) -> list[dict[str, Any]]:
    """The connector and its tasks, each with `state`, `worker_id` and, where there is one, `trace` or `waiting`."""
    return [status["connector"], *status["tasks"]]


def reason(part: dict[str, Any]) -> str:
    """Why it failed or waits, in a line: Java's traces begin with it, Python's end with it."""
    if "waiting" in part:
        return f"since {in_words(part['waiting']['since_ms'])}: {part['waiting']['reason']}"
    lines = str(part.get("trace") or "").strip().splitlines() or [""]
    if not lines[0].startswith("Traceback "):
        return lines[0]
    return [line for line in lines if line and not line[0].isspace()][-1]


def _text(statuses: Sequence[dict[str, Any]]) -> str:
    if not statuses:
        return "no connectors; make one with: connect apply -f FILE"
    rows = [
        (status["name"], part.get("id", ""), part["state"], part["worker_id"], reason(part))
        for status in statuses
        for part in parts(status)
    ]
    return table(["CONNECTOR", "TASK", "STATE", "WORKER", "REASON"], rows)
