"""`connect history`: the versions of a connector's configuration, compared and restored."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from connect.cli._connectors import agree, print_json
from connect.cli._diff import Change
from connect.cli._exit import FAILED, OK
from connect.cli._moments import in_words
from connect.cli._rest_client import add_options, client_of, not_of_java
from connect.cli._table import table
from connect.errors import ConfigError

HELP = """\
Show which versions a connector's configuration has had, who wrote each of them and when, and return to one.
The workers of a pool keep them, also those of a deleted connector. Java's workers do not.

examples:
  connect history orders                           the versions, newest first
  connect history orders 1234                      what version 1234 changed
  connect history orders 1260 --since 1234         what changed between two versions
  connect history orders 1234 --restore            show it, ask, and return to it"""

_SIGNS = {"added": "+", "changed": "~", "removed": "-"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("connector", metavar="CONNECTOR")
    parser.add_argument("version", metavar="VERSION", nargs="?", type=int, help="of the list")
    parser.add_argument("--since", metavar="VERSION", type=int, help="compare with it, not with the one before")
    parser.add_argument("--restore", action="store_true", help="give the connector the configuration of VERSION again")
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask")
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print the list, or a version; restore it if requested."""
    if args.version is None:
        if args.restore or args.since is not None:
            raise ConfigError("VERSION", "say which version, one of the list.")
        return _list(args)
    return _restore(args) if args.restore else _show(args)


def _list(args: argparse.Namespace) -> int:
    answer = _ask(args, "GET")
    if args.json:
        print_json(answer)
    else:
        rows = [(one["version"], _when(one), one["by"] or "", _what(one)) for one in answer["versions"]]
        print(table(["VERSION", "WRITTEN", "BY", "CHANGES"], rows))
    return OK


def _show(args: argparse.Namespace) -> int:
    found = _version(args)
    if args.json:
        print_json(found)
    else:
        print(_text(found))
    return OK


def _restore(args: argparse.Namespace) -> int:
    if not args.json:
        print(_text(_version(args)))
    if not agree(f"Return to version {args.version} of {args.connector}?", args):
        print("connect: nothing was changed.", file=sys.stderr)
        return FAILED
    answer = _ask(args, "POST", str(args.version), "restore")
    if args.json:
        print_json(answer)
    else:
        print(f"{args.connector} has the configuration of version {args.version} again")
    return OK


def _version(args: argparse.Namespace) -> dict[str, Any]:
    return _ask(args, "GET", str(args.version), **({} if args.since is None else {"since": str(args.since)}))


def _ask(args: argparse.Namespace, method: str, *path: str, **query: str) -> dict[str, Any]:
    client = client_of(args)
    with not_of_java(client, "keeps no history", "Ask a worker of ours in the same group with --url."):
        found: dict[str, Any] = client.request(method, ("connectors", args.connector, "history", *path), query=query)
    return found


def _text(found: dict[str, Any]) -> str:
    author = f" by {found['by']}" if found["by"] else ""
    first = f"version {found['version']}, written {_when(found)}{author}"
    if found["deleted"]:
        return f"{first}: the connector was deleted"
    since = "the first one known" if found["since"] is None else f"since version {found['since']}"
    changes = [str(Change(one["key"], one["before"], one["after"])) for one in found["differences"]]
    return "\n".join([f"{first}, {since}", *(changes or ["nothing changed"])])


def _when(version: dict[str, Any]) -> str:
    return "before the history" if version["at"] is None else in_words(version["at"])


def _what(version: dict[str, Any]) -> str:
    if version["deleted"]:
        return "deleted"
    return " ".join(f"{sign}{key}" for word, sign in _SIGNS.items() for key in version["changes"][word])
