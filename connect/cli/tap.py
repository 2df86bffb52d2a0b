"""`connect tap`: records on their way through a running connector, step by step."""

from __future__ import annotations

import argparse
import sys

from connect.cli._connectors import print_json
from connect.cli._exit import FAILED, OK
from connect.cli._rest_client import RestClient, add_options, client_of, not_of_java

#: How long an answer takes beyond the time that the worker waits for records.
_ANSWER_S = 10.0

HELP = """\
Show the next records of a running connector, each before and after every converter and transformation.
Nothing is moved, repeated or slowed down. Fields with names like password or token are masked by the worker.

examples:
  connect tap orders                       the next five records
  connect tap orders --records 20 --task 3
  connect tap orders --seconds 60 --full   wait a minute for them; show long values whole
  connect tap orders --json                for programs"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("connector", metavar="CONNECTOR")
    parser.add_argument("--records", type=int, default=5, metavar="N", help="how many, up to 100 (default: 5)")
    parser.add_argument("--seconds", type=int, default=10, metavar="N", help="how long to wait, up to 60 (default: 10)")
    parser.add_argument("--task", type=int, metavar="N", help="only this task")
    parser.add_argument("--full", action="store_true", help="show long values whole")
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print the records. Exit code 1 if none came."""
    import msgspec

    from connect.cli._trial_text import told
    from connect.pipeline.outcome import SeenOutcome

    args.timeout = max(args.timeout, args.seconds + _ANSWER_S)
    client = client_of(args)
    query = {"records": str(args.records), "seconds": str(args.seconds)}
    if args.task is not None:
        query["task"] = str(args.task)
    instead = "`connect try` runs samples through the connector's configuration here."
    with not_of_java(client, "shows no records", instead):
        answer = client.get("connectors", args.connector, "tap", **query)
    if args.json:
        print_json(answer)
        return OK if answer["records"] else FAILED
    for number, one in enumerate(answer["records"]):
        seen = msgspec.convert(one["record"], SeenOutcome)
        print(("\n" if number else "") + told(seen, f"task {one['task']} at {one['worker_id']}", full=args.full))
    for one in answer["untapped"]:
        task = "" if one["task"] is None else f", task {one['task']}"
        print(f"connect: {one['worker_id']}{task}: {one['reason']}", file=sys.stderr)
    if not answer["records"]:
        if not answer["untapped"]:
            print(f"connect: {_why_none(client, args)}", file=sys.stderr)
        return FAILED
    return OK


def _why_none(client: RestClient, args: argparse.Namespace) -> str:
    status = client.get("connectors", args.connector, "status")
    states = {task["id"]: task["state"] for task in status["tasks"]}
    if args.task is not None and args.task not in states:
        return f"{args.connector} has no task {args.task}; `connect status {args.connector}` shows its tasks."
    asked = {state for task, state in states.items() if args.task in (None, task)} or {status["connector"]["state"]}
    if "RUNNING" not in asked:
        return f"no record comes: {args.connector} is {', '.join(sorted(asked))}."
    return f"no record came within {args.seconds} s."
