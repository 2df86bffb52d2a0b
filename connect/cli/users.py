"""`connect users`: users with passwords for a worker's REST API."""

from __future__ import annotations

import argparse

from connect.cli._connectors import print_json
from connect.cli._exit import OK
from connect.cli._security_files import EntryFile, add_file, ask_password, file_of
from connect.errors import ConfigError, ConnectError
from connect.settings.properties import load
from connect.settings.rest_security_keys import USERS_FILE

HELP = """\
Keep the file of users who log in with passwords (rest.security.users.file). Running workers use a change at once. The
command asks for a password, or reads it as a line of standard input; the file holds only its hash.

examples:
  connect users add alice --file users                       make a user; creates the file if necessary
  connect users passwd alice --worker worker.properties      another password; the worker's file names the users'
  pass show connect/ci | connect users add ci --file users   from a program
  connect users import jaas-users.properties --file users    those of Kafka Connect's own basic authentication
  connect users list --file users"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare add, passwd, remove, import and list."""
    actions = parser.add_subparsers(metavar="ACTION", title="actions", required=True)
    for action, does, what in (
        (_add, "add", "make a user"),
        (_passwd, "passwd", "give a user another password"),
        (_remove, "remove", "remove users"),
    ):
        command = actions.add_parser(does, help=what)
        if does == "remove":
            command.add_argument("names", metavar="USER", nargs="+")
        else:
            command.add_argument("name", metavar="USER")
        add_file(command, USERS_FILE)
        command.set_defaults(action=action)
    taken = actions.add_parser("import", help="import a file of names and plain passwords: name=password")
    taken.add_argument("plain", metavar="FILE", help="as Kafka Connect's PropertyFileLoginModule reads it")
    add_file(taken, USERS_FILE)
    taken.set_defaults(action=_import)
    listed = actions.add_parser("list", help="list the users")
    add_file(listed, USERS_FILE)
    listed.add_argument("--json", action="store_true", help="for programs")
    listed.set_defaults(action=_list)


def run(args: argparse.Namespace) -> int:
    """Run the subcommand."""
    from rest.security.users import parse_users

    args.action(EntryFile(file_of(args, USERS_FILE), USERS_FILE, parse_users), args)
    return OK


def _add(file: EntryFile, args: argparse.Namespace) -> None:
    if args.name in file.names:
        raise ConnectError(f'There is a user "{args.name}". `connect users passwd` gives them another password.')
    _put(file, args.name, ask_password(args.name))
    file.save()
    print(f"{args.name} is a user now. rest.security.roles.file gives them roles, as user:{args.name}.")


def _passwd(file: EntryFile, args: argparse.Namespace) -> None:
    _refuse_unknown(file, [args.name])
    _put(file, args.name, ask_password(args.name))
    file.save()
    print(f"{args.name} has another password now.")


def _remove(file: EntryFile, args: argparse.Namespace) -> None:
    _refuse_unknown(file, args.names)
    for name in args.names:
        file.remove(name)
    file.save()
    print(f"{', '.join(args.names)} can no longer log in.")


def _import(file: EntryFile, args: argparse.Namespace) -> None:
    plain = load(args.plain)
    for name, password in plain.items():
        if not password:
            raise ConfigError(name, f"{plain.where(name)}: this user has no password. Remove the line.")
        _put(file, name, password)
    file.save()
    print(f"{len(plain)} users were imported. Remove {args.plain}: it shows their passwords.")


def _list(file: EntryFile, args: argparse.Namespace) -> None:
    if args.json:
        print_json([{"name": name} for name in file.names])
    else:
        print(*(file.names or ["no users; make one with: connect users add USER"]), sep="\n")


def _put(file: EntryFile, name: str, password: str) -> None:
    from rest.security.passwords import PasswordHash

    file.put(name, f"{name}:{PasswordHash.make(password)}")


def _refuse_unknown(file: EntryFile, names: list[str]) -> None:
    if unknown := [name for name in names if name not in file.names]:
        raise ConnectError(f'There is no user "{unknown[0]}". `connect users list` lists the users.')
