"""`connect offsets`: the positions of connectors, shown and changed (KIP-875)."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from connect.cli._connectors import agree, print_json
from connect.cli._exit import FAILED, OK
from connect.cli._rest_client import AnswerError, add_options, client_of
from connect.cli._table import table
from connect.errors import ConfigError
from connect.telemetry.redaction import redactor

HELP = """\
Show and change the offsets of a connector: a source's own, or those of a sink's consumer group.
A connector must be stopped before its offsets are changed.

examples:
  connect offsets get orders                       the table
  connect offsets get orders --json > offsets.json for changing
  connect stop orders                              before either of the next two
  connect offsets set orders -f offsets.json       an "offset" of null forgets that partition
  connect offsets set archive orders:0=42          a sink reads partition 0 of topic orders on from 42
  connect offsets reset orders                     forget all: start again"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare get, set and reset."""
    actions = parser.add_subparsers(metavar="ACTION", title="actions", required=True)
    getting = actions.add_parser("get", help="show them")
    setting = actions.add_parser("set", help="change some")
    resetting = actions.add_parser("reset", help="forget all")
    for action in (getting, setting, resetting):
        action.description = HELP
        action.formatter_class = argparse.RawDescriptionHelpFormatter
        action.add_argument("connector", metavar="CONNECTOR")
    setting.add_argument("positions", nargs="*", metavar="TOPIC:PARTITION=OFFSET", help="of a sink")
    setting.add_argument("-f", "--file", metavar="FILE", help="what get --json prints; - is the standard input")
    for action, does in ((getting, _get), (setting, _set), (resetting, _reset)):
        if action is not getting:
            action.add_argument("--yes", "-y", action="store_true", help="do not ask")
        action.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)
        action.set_defaults(action=does)
        add_options(action)


def run(args: argparse.Namespace) -> int:
    """Run the subcommand."""
    code: int = args.action(args)
    return code


def _get(args: argparse.Namespace) -> int:
    answer = client_of(args).get("connectors", args.connector, "offsets")
    if args.json:
        print_json(answer)
    elif answer["offsets"]:
        print(_table(answer["offsets"]))
    else:
        print(f"{args.connector} has no offsets yet")
    return OK


def _set(args: argparse.Namespace) -> int:
    if bool(args.file) == bool(args.positions):
        raise ConfigError("offsets", "write them as TOPIC:PARTITION=OFFSET, or name a file with -f; one of the two.")
    offsets = _read(args.file) if args.file else [_position(text) for text in args.positions]
    if not args.json:
        print(_table(offsets))
    return _change(args, "PATCH", {"offsets": offsets}, f"Set these offsets of {args.connector}?")


def _reset(args: argparse.Namespace) -> int:
    return _change(args, "DELETE", None, f"Forget all offsets of {args.connector}?")


def _change(args: argparse.Namespace, method: str, body: object, question: str) -> int:
    if not agree(question, args):
        print("connect: nothing was changed.", file=sys.stderr)
        return FAILED
    try:
        answer = client_of(args).request(method, ("connectors", args.connector, "offsets"), body)
    except AnswerError as error:
        if "STOPPED" in error.said:  # Java's words, which advise a request with PUT
            print(f"connect: Stop it first: `connect stop {args.connector}`.", file=sys.stderr)
            return error.exit_code
        raise
    if args.json:
        print_json(answer)
    else:
        print(answer["message"])
    return OK


def _table(offsets: Sequence[dict[str, Any]]) -> str:
    if all("kafka_topic" in entry["partition"] for entry in offsets):
        rows = [
            (entry["partition"]["kafka_topic"], entry["partition"].get("kafka_partition"), _sink_offset(entry))
            for entry in offsets
        ]
        return table(["TOPIC", "PARTITION", "OFFSET"], sorted(rows, key=str))
    return table(["PARTITION", "OFFSET"], [(_text(entry["partition"]), _text(entry["offset"])) for entry in offsets])


def _sink_offset(entry: dict[str, Any]) -> str:
    offset = entry["offset"]
    return "none" if offset is None else str(offset.get("kafka_offset"))


def _text(value: object) -> str:
    return "none" if value is None else redactor.redact(json.dumps(value, ensure_ascii=False))


def _read(path: str) -> list[dict[str, Any]]:
    try:
        found = json.loads(sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError("--file", f"{path}: {(error.strerror or 'cannot be read').lower()}.") from error
    except ValueError as error:
        raise ConfigError("--file", f"{path}: this is not JSON ({error}).") from error
    offsets = found.get("offsets") if isinstance(found, dict) else None
    if not isinstance(offsets, list) or not offsets or not all(map(_is_entry, offsets)):
        form = '{"offsets": [{"partition": {...}, "offset": {...}}, ...]}'
        raise ConfigError("--file", f"{path}: offsets have the form {form}, as connect offsets get --json prints them.")
    return offsets


def _is_entry(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("partition"), dict)
        and "offset" in entry
        and isinstance(entry["offset"], dict | None)
    )


def _position(text: str) -> dict[str, Any]:
    where, _, offset = text.rpartition("=")
    topic, _, partition = where.rpartition(":")
    if not (topic and partition.isdecimal() and offset.isdecimal()):
        raise ConfigError(text, "write TOPIC:PARTITION=OFFSET, for example orders:0=42.")
    return {
        "partition": {"kafka_topic": topic, "kafka_partition": int(partition)},
        "offset": {"kafka_offset": int(offset)},
    }
