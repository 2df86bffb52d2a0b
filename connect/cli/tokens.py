"""`connect tokens`: tokens with which programs log in at a worker's REST API."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime, timedelta

from connect.cli._connectors import print_json
from connect.cli._exit import OK
from connect.cli._security_files import EntryFile, add_file, file_of
from connect.cli._table import table
from connect.errors import ConfigError, ConnectError
from connect.settings.rest_security_keys import TOKENS_FILE

HELP = """\
Keep the file of bearer tokens that a worker accepts (rest.security.tokens.file). Running workers use a change at once.
The command shows a token once, when it makes it: the file holds only its hash.

examples:
  connect tokens create ci --file tokens > ci.token          make one; programs send it: Authorization: Bearer ...
  connect tokens create tf --expires 90d --file tokens       one that is valid for 90 days; or to a day: 2027-01-31
  connect tokens revoke ci --worker worker.properties        end a token
  connect tokens list --file tokens"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare create, revoke and list."""
    actions = parser.add_subparsers(metavar="ACTION", title="actions", required=True)
    made = actions.add_parser("create", help="make a token, and print it")
    made.add_argument("name", metavar="TOKEN", help="its name in roles and the audit log")
    made.add_argument("--expires", metavar="WHEN", help="after so many days (90d), on a day, or at a moment")
    made.set_defaults(action=_create)
    revoked = actions.add_parser("revoke", help="remove tokens")
    revoked.add_argument("names", metavar="TOKEN", nargs="+")
    revoked.set_defaults(action=_revoke)
    listed = actions.add_parser("list", help="list the tokens, and when they end")
    listed.add_argument("--json", action="store_true", help="for programs")
    listed.set_defaults(action=_list)
    for command in (made, revoked, listed):
        add_file(command, TOKENS_FILE)


def run(args: argparse.Namespace) -> int:
    """Run the subcommand."""
    from rest.security.tokens import parse_tokens

    path = file_of(args, TOKENS_FILE)
    args.action(EntryFile(path, TOKENS_FILE, parse_tokens), args)
    return OK


def _create(file: EntryFile, args: argparse.Namespace) -> None:
    from rest.security.tokens import new_token

    if args.name in file.names:
        raise ConnectError(f'There is a token "{args.name}". Take another name, or revoke it first.')
    token, secret = new_token(args.name, None if args.expires is None else _moment(args.expires))
    file.put(args.name, str(token))
    file.save()
    print(secret)
    print(f"This is shown once. rest.security.roles.file gives it a role, as token:{args.name}.", file=sys.stderr)


def _revoke(file: EntryFile, args: argparse.Namespace) -> None:
    if unknown := [name for name in args.names if name not in file.names]:
        raise ConnectError(f'There is no token "{unknown[0]}". `connect tokens list` lists them.')
    for name in args.names:
        file.remove(name)
    file.save()
    print(f"No longer valid: {', '.join(args.names)}.")


def _list(file: EntryFile, args: argparse.Namespace) -> None:
    from rest.security.tokens import parse_tokens

    now = datetime.now(UTC)
    found = list(parse_tokens(file.text).by_digest.values())
    if args.json:
        ends = {token.name: None if token.expires is None else token.expires.isoformat() for token in found}
        print_json(
            [{"name": token.name, "expires": ends[token.name], "expired": token.expired(now)} for token in found]
        )
    elif found:
        rows = []
        for token in found:
            end = "never" if token.expires is None else token.expires.isoformat().replace("+00:00", "Z")
            rows.append((token.name, end, "expired" if token.expired(now) else "counts"))
        print(table(["NAME", "EXPIRES", "STATE"], rows))
    else:
        print("no tokens; make one with: connect tokens create TOKEN")


def _moment(text: str) -> datetime:
    from rest.security.tokens import expiry

    days = text.removesuffix("d")
    if days != text and days.isdecimal() and len(days) < 6:
        return datetime.now(UTC).replace(microsecond=0) + timedelta(days=int(days))
    try:
        found = expiry(text)
    except ValueError as error:
        raise ConfigError("--expires", f"{error} Or write a number of days: 90d.") from error
    if found <= datetime.now(UTC):
        raise ConfigError("--expires", f"{text} is over already.")
    return found
