"""`connect dlq`: dead letters, shown and replayed."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from connect.cli._connectors import agree, print_json
from connect.cli._exit import FAILED, OK
from connect.cli._moments import milliseconds
from connect.cli._rest_client import add_options
from connect.cli._table import plain
from connect.errors import ConfigError, ConnectError, one_line
from connect.settings.raw import comma_separated

if TYPE_CHECKING:
    from connect.cli._dlq_sources import Letters

HELP = """\
Look at dead letters, the records that a connector gave up, and replay them: into the topic where each was consumed,
with its key, headers, timestamp and partition, and without the headers of the error. A replay leaves out what was
replayed before, unless --again is given.

The command asks a worker of the cluster. With --bootstrap-server or --worker-config it reads the topic itself, which
works with any Kafka Connect.

examples:
  connect dlq list orders                                   the newest
  connect dlq list orders --group --since 24h               what goes wrong how often
  connect dlq list orders --stage VALUE_CONVERTER --error "no JSON" --limit 500 --json
  connect dlq show orders 0:812                             one in full: payload, headers, stack trace
  connect dlq replay orders --error "no such customer" --dry-run
  connect dlq replay orders --offset 0:812 --set customer.id=7
  connect dlq replay orders --offset 0:812 --edit           in $EDITOR
  connect dlq replay orders --to connector                  its tasks try them again, and no other consumer sees them
  connect dlq list --topic orders-dlq --bootstrap-server localhost:9092"""

_LIMIT = 50
#: Replays of more than so many are asked about.
_ASKED_ABOVE = 10
_PAGE = 500


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare list, show and replay."""
    actions = parser.add_subparsers(metavar="ACTION", title="actions", required=True)
    listing = actions.add_parser("list", help="a line each, or counted by error")
    showing = actions.add_parser("show", help="one in full")
    replaying = actions.add_parser("replay", help="write them again")
    for action, does in ((listing, _list), (showing, _show), (replaying, _replay)):
        action.description = HELP
        action.formatter_class = argparse.RawDescriptionHelpFormatter
        action.set_defaults(action=does)
        action.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)
    for action in (listing, replaying):
        action.add_argument("connector", metavar="CONNECTOR", nargs="?")
        _add_filter(action)
    showing.add_argument(
        "places", metavar="CONNECTOR PARTITION:OFFSET", nargs="+", help="which; with --topic the place alone"
    )
    showing.add_argument("--hex", action="store_true", help="payloads as bytes")
    listing.add_argument("--limit", type=int, default=_LIMIT, metavar="N", help="so many (default: %(default)s)")
    listing.add_argument("--group", action="store_true", help="count them by error")
    _add_replay(replaying)
    for action in (listing, showing, replaying):
        action.add_argument("--topic", help="the topic of dead letters, without a connector")
        action.add_argument("--bootstrap-server", metavar="HOST:PORT", help="read the topic without a worker")
        action.add_argument("--worker-config", metavar="FILE", help="likewise, with a worker's client settings")
        add_options(action, key="--cert-key")


def run(args: argparse.Namespace) -> int:
    """Run the subcommand."""
    code: int = args.action(args)
    return code


def _add_filter(parser: argparse.ArgumentParser) -> None:
    which = parser.add_argument_group("which")
    which.add_argument("--since", metavar="TIME", help="of this time or later: 2h (ago), 2026-01-02T03:04, or ms")
    which.add_argument("--until", metavar="TIME", help="of this time or earlier")
    which.add_argument("--stage", help="where they failed: VALUE_CONVERTER, TRANSFORMATION, ...")
    which.add_argument("--error", metavar="TEXT", help="a part of the error's class or message")
    which.add_argument("--fingerprint", help="of the error, as --group says it")
    which.add_argument("--key", metavar="TEXT", help="the record's key")


def _add_replay(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--offset", action="append", default=[], metavar="PARTITION:OFFSET", help="only this; repeatable"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="at most so many, the oldest first")
    parser.add_argument("--to", choices=["topic", "connector"], default="topic", help="where to (default: %(default)s)")
    parser.add_argument("--into", metavar="TOPIC", help="another topic than the one that each came from")
    edits = parser.add_argument_group("edits of JSON values")
    edits.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help="VALUE as JSON, or text")
    edits.add_argument("--unset", action="append", default=[], metavar="FIELD", help="remove a field")
    edits.add_argument("--edit", action="store_true", help="each value in $VISUAL or $EDITOR")
    edits.add_argument("--edit-with", metavar="COMMAND", help="in this editor")
    parser.add_argument("--again", action="store_true", help="also those that were replayed before")
    parser.add_argument("--dry-run", action="store_true", help="only show what would be done")
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask")


def _list(args: argparse.Namespace) -> int:
    from connect.cli._dlq_sources import letters_of
    from connect.cli._dlq_text import groups_table, letters_table

    wanted = _filter(args)
    if args.limit < 1:
        raise ConfigError("--limit", "is at least 1.")
    letters = letters_of(args)
    try:
        if args.group:
            found = letters.groups(wanted)
            if args.json:
                print_json(found)
            else:
                print(groups_table(found["groups"]) if found["groups"] else f"{plain(found['topic'])} has none of them")
                if not found["complete"]:
                    print(
                        "connect: there are more than could be read in time; narrow them with --since.", file=sys.stderr
                    )
            return OK
        topic, shown, more = _pages(letters, wanted, args.limit)
    finally:
        letters.close()
    if args.json:
        print_json({"topic": topic, "letters": shown, "more": more})
    elif shown:
        print(letters_table(shown))
        if more:
            print(f"connect: there may be more; the newest {len(shown)} are shown (--limit).", file=sys.stderr)
    else:
        print(f"{plain(topic)} has none" + (" of them" if wanted else ""))
    return OK


def _pages(letters: Letters, wanted: Mapping[str, Any], limit: int) -> tuple[str, list[dict[str, Any]], bool]:
    """This many of the newest."""
    shown: list[dict[str, Any]] = []
    after: str | None = None
    while True:
        page = letters.page(wanted, min(limit - len(shown), _PAGE), after)
        shown += page["letters"]
        after = page["next"]
        if after is None or len(shown) >= limit:
            return page["topic"], shown, after is not None


def _show(args: argparse.Namespace) -> int:
    from connect.cli._dlq_sources import letters_of
    from connect.cli._dlq_text import letter_text

    *names, place = args.places
    if len(names) > 1:
        raise ConfigError(names[1], "name one connector and one dead letter: connect dlq show orders 0:812.")
    args.connector = names[0] if names else None
    letters = letters_of(args)
    try:
        letter = letters.one(*_place(place))
        if args.json:
            print_json(letter)
            return OK
        config = letters.config() if args.connector else {}
        topic = args.topic or config.get("errors.deadletterqueue.topic.name", "")
        decoded = _decoded(letter, config, args.worker_config)
    finally:
        letters.close()
    print(letter_text(letter, topic, decoded, as_hex=args.hex))
    return OK


def _decoded(letter: Mapping[str, Any], config: Mapping[str, str], worker_config: str | None) -> dict[str, str]:
    """The output of the connector's converters for key and value; of those that are installed here."""
    from connect.cli._dlq_text import data_of
    from connect.cli._pipelines import WorkerSettings
    from connect.cli._trial_text import value_text
    from connect.pipeline.build import converter
    from connect.pipeline.seen import plain as plain_value
    from connect.plugins import Plugins

    worker = WorkerSettings.read(worker_config)
    folders = comma_separated(worker.values.get("plugin.path"))
    plugins = Plugins.discover(folders)
    topic = (letter["error"] or {}).get("topic") or ""
    found = {}
    for part in ("key", "value"):
        try:
            made = converter(plugins, worker.values, config, f"{part}.converter")
        except (ConnectError, ValueError):
            continue  # it is not installed here, or only the worker knows which it is
        try:
            value = made.to_connect_data(topic, data_of(letter[part]))
        except Exception as error:  # plug-ins raise anything
            said = one_line(error)
            found[part] = f"{type(made).__name__} fails: {type(error).__name__}: {said}"
        else:
            schema = "" if value.schema is None else f"  {value.schema!r}"
            found[part] = f"{value_text(plain_value(value.value), None)}{schema}"
    return found


def _replay(args: argparse.Namespace) -> int:
    from connect.cli._dlq_sources import letters_of

    order = _order(args)
    letters = letters_of(args)
    try:
        planned = letters.replay({**order, "dry_run": True})
        if args.edit or args.edit_with:
            values = _edited(letters, planned, args.edit_with)
            order |= {
                "values": values,
                "places": [{key: one[key] for key in ("partition", "offset")} for one in values],
            }
            planned["replayed"] = [one for one in planned["replayed"] if _at(one) in set(map(_at, values))]
        count = len(planned["replayed"])
        if args.dry_run or not count:
            return _tell(planned, args)
        question = f"Replay {count} dead letters of {plain(planned['topic'])}?"
        if count > _ASKED_ABOVE and not agree(question, args):
            print("connect: nothing was replayed.", file=sys.stderr)
            return FAILED
        return _tell(letters.replay({**order, "limit": count, "dry_run": False}), args)
    finally:
        letters.close()


def _order(args: argparse.Namespace) -> dict[str, Any]:
    order: dict[str, Any] = {**_filter(args), "to": args.to, "again": args.again}
    if args.offset:
        order["places"] = [dict(zip(("partition", "offset"), _place(text), strict=True)) for text in args.offset]
    if args.limit is not None:
        order["limit"] = args.limit
    if args.into:
        order["into"] = args.into
    if (args.set or args.unset) and (args.edit or args.edit_with):
        raise ConfigError("--edit", "cannot be combined with --set and --unset.")
    if args.set:
        order["set"] = dict(map(_field, args.set))
    if args.unset:
        order["unset"] = args.unset
    return order


def _edited(letters: Letters, planned: Mapping[str, Any], command: str | None) -> list[dict[str, Any]]:
    """The edited value of each dead letter to replay; emptied ones are left out."""
    from connect.cli._dlq_text import data_of
    from connect.cli._editor import edit

    values = []
    for one in planned["replayed"]:
        partition, offset = _at(one)
        letter = letters.one(partition, offset)
        name = f"{partition}:{offset}"
        data = data_of(letter["value"])
        try:
            changed = edit(data, name, command)
        except ConnectError as error:
            print(f"connect: {name}: {error}", file=sys.stderr)
            continue
        if changed is None:
            print(f"connect: {name} is left out.", file=sys.stderr)
            continue
        values.append({"partition": partition, "offset": offset, "text": changed.decode()})
    return values


def _tell(outcome: Mapping[str, Any], args: argparse.Namespace) -> int:
    if args.json:
        print_json(outcome)
        return FAILED if outcome["skipped"] else OK
    for one in outcome["replayed"]:
        there = "" if one["to_offset"] is None else f"@{one['to_offset']}"
        partition = "?" if one["to_partition"] is None else one["to_partition"]
        print(plain(f"{one['partition']}:{one['offset']} -> {one['topic']}-{partition}{there}"))
    for one in outcome["skipped"]:
        print(plain(f"connect: {one['partition']}:{one['offset']} is not replayed: {one['reason']}"), file=sys.stderr)
    if outcome["warning"]:
        print(f"connect: {plain(outcome['warning'])}", file=sys.stderr)
    verb = "would be replayed" if args.dry_run else "replayed"
    parts = [f"{len(outcome['replayed'])} {verb}"]
    if outcome["skipped"]:
        parts.append(f"{len(outcome['skipped'])} not")
    if outcome["marked_before"]:
        parts.append(f"{outcome['marked_before']} were replayed before (--again replays them, too)")
    if not outcome["complete"]:
        parts.append("there may be more")
    print(", ".join(parts))
    return FAILED if outcome["skipped"] else OK


def _filter(args: argparse.Namespace) -> dict[str, Any]:
    found = {
        "since": milliseconds("--since", args.since),
        "until": milliseconds("--until", args.until),
        "stage": args.stage,
        "error": args.error,
        "fingerprint": args.fingerprint,
        "key": args.key,
    }
    return {name: value for name, value in found.items() if value is not None}


def _at(one: Mapping[str, Any]) -> tuple[int, int]:
    return one["partition"], one["offset"]


def _place(text: str) -> tuple[int, int]:
    partition, colon, offset = text.partition(":")
    if not (colon and partition.isdecimal() and offset.isdecimal()):
        raise ConfigError(text, "write PARTITION:OFFSET of the dead letter, for example 0:812.")
    return int(partition), int(offset)


def _field(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ConfigError("--set", f'"{text}" is not FIELD=VALUE.')
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
