"""What several commands share: one operation on many connectors, confirmation, output for programs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

from connect.cli._exit import OK
from connect.cli._rest_client import AnswerError, RestClient, UnreachableError, client_of
from connect.errors import ConnectError


def each(args: argparse.Namespace, done: str, act: Callable[[RestClient, str], Any]) -> int:
    """Do one thing to every connector of `args.connectors`, and report it; one that fails does not stop the others.

    Args:
        done: the report of a success, e.g. "is told to pause".
    """
    client = client_of(args)
    code = OK
    outcomes = []
    for name in args.connectors:
        try:
            act(client, name)
            outcomes.append({"name": name, "done": True})
            if not args.json:
                print(f"{name} {done}")
        except UnreachableError:
            raise
        except ConnectError as error:
            outcomes.append({"name": name, "done": False, "error": str(error)})
            print(f"connect: {name}: {error}", file=sys.stderr)
            code = max(code, int(getattr(error, "exit_code", 1)))
    if args.json:
        print_json(outcomes)
    return code


def agree(question: str, args: argparse.Namespace) -> bool:
    """Whether --yes was given, or the user at the terminal agrees. Without a terminal: no."""
    if args.yes:
        return True
    if not sys.stdin.isatty():
        print(f"connect: {question} There is no terminal to ask at: add --yes.", file=sys.stderr)
        return False
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def declared_secrets(client: RestClient, config: Mapping[str, str]) -> set[str]:
    """The keys of a connector that its plug-in declares as PASSWORD; none where the cluster does not say."""
    try:
        keys = client.get("connector-plugins", config.get("connector.class", ""), "config")
    except AnswerError:
        return set()
    return {key["name"] for key in keys if key["type"] == "PASSWORD"}


def print_json(value: object) -> None:
    """For programs. Where standard output cannot take a letter, or half of a surrogate pair, all such are escaped."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=2)
    print(text)
