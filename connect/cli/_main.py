"""Parses the command line, runs one command, and turns errors into one line and an exit code.

A command is a module of this package, or an object in one, with `HELP`, `configure(parser)` and `run(args) -> int`.
"""

import argparse
import errno
import importlib
import io
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from connect.cli._exit import FAILED, INVALID
from connect.errors import ConfigError, ConnectError, PluginNotFoundError, chain_of

# Every command, with the line that `connect --help` shows. Only the one that is asked for is imported.
COMMANDS = {
    "standalone": "run connectors in one worker, from property files",
    "distributed": "run one worker of a pool that shares connectors and tasks",
    "doctor": "look at everything that would stop or hurt a worker with this file",
    "broker": "run Apache Kafka on this machine: start, stop, status, logs",
    "plugins": "list the connectors, transformations and converters that are installed",
    "init": "write a package for a plug-in of your own, with its tests",
    "docs": "read the documentation that came with this version",
    "users": "keep the users who may log in at the REST API with a password",
    "tokens": "keep the tokens with which programs log in at the REST API",
    "demo": "watch lines flow from a file through Kafka into another file",
    "try": "run a connector's converters and transformations on sample records",
    "test": "run the cases of YAML files for a connector's converters and transformations",
    "bench": "measure how fast a connector runs here, and what holds it up",
    # From here on for a cluster that runs.
    "list": "list the connectors of a running cluster",
    "status": "show the state of connectors and tasks, once or at every change",
    "top": "watch what every task does, as in htop: records, lag, CPU, memory",
    "ui": "serve the operations page for any cluster, of Java workers too",
    "get": "show the configuration of a connector",
    "describe": "show all about a connector: state, tasks, topics, configuration, traces",
    "validate": "have the cluster check connector files",
    "plan": "show what connector files would change in a cluster",
    "apply": "create or update connectors from files, after showing the difference",
    "delete": "delete connectors",
    "pause": "pause connectors",
    "resume": "resume connectors that were paused or stopped",
    "stop": "end the tasks of connectors",
    "restart": "restart connectors, their tasks, or only what failed",
    "offsets": "show, set or reset the offsets of a connector",
    "tap": "look at records on their way through a running connector, step by step",
    "history": "show who changed a connector's configuration and when, and return to an earlier one",
    "migrate": "say what runs the connectors of a Java cluster here, and write their files",
    "dlq": "show and replay dead letters: the records that a connector gave up",
    "logs": "show or set the log levels of the workers",
    "completion": "print the script that completes these commands in bash, zsh or fish",
}

EXAMPLES = """\
examples:
  connect demo                                               see it work
  connect broker start                                       a Kafka broker on this machine
  connect standalone worker.properties orders.json           run a connector
  connect doctor worker.properties                           find out why a worker does not start
  connect list --url http://worker1:8083                     the connectors of a running cluster
  connect apply -f orders.json                               create or update one
  connect COMMAND --help                                     the arguments of a command

exit codes: 0 done, 1 failed, 2 the command line or a configuration is invalid, 3 a server cannot be reached
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Returns its exit code; never raises for what a user can fix."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    _open_streams()
    try:
        try:
            args = _parsed(arguments)
            code: int = args.run(args)
        finally:
            sys.stdout.flush()  # here, where an error of it is handled
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output (`| head`) is gone. Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:
        if debug:
            traceback.print_exc()
        print(f"connect: {_one_line(error)}", file=sys.stderr)
        if not debug and not _for_users(error):
            print("  This is an unexpected error. Run it again with --debug to see where it happened.", file=sys.stderr)
        return _exit_code(error)
    return code


def distributed_main() -> int:
    """`connect-distributed`: Kafka's own name for `connect distributed`."""
    return main(["distributed", *sys.argv[1:]])


def standalone_main() -> int:
    """`connect-standalone`: Kafka's own name for `connect standalone`."""
    return main(["standalone", *sys.argv[1:]])


def parser_for(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of the whole command line; only the given command declares its arguments."""
    parser = argparse.ArgumentParser(
        prog="connect",
        description="Source and sink connectors for Apache Kafka.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        *("--version", "-V"),
        action=_Version,
        nargs=0,
        const=not {"-v", "--verbose"}.isdisjoint(arguments),
        help="show the version; with -v also of what it runs on: Python, Kafka's client, Java, Spark",
    )
    parser.add_argument("--verbose", "-v", action="store_true", help=argparse.SUPPRESS)
    commands = parser.add_subparsers(metavar="COMMAND", title="commands", required=True)
    asked = _asked_for(arguments)
    for name, line in COMMANDS.items():
        module = _load(name) if name == asked else None
        command = commands.add_parser(
            name,
            help=line,
            description=module.HELP if module else line,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if module:
            command.add_argument("--debug", action="store_true", help="show the traceback of an error")
            command.set_defaults(run=module.run)
            module.configure(command)
    return parser


def _asked_for(arguments: Sequence[str]) -> str | None:
    return next((word for word in arguments if not word.startswith("-")), None)


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser, asked = parser_for(arguments), _asked_for(arguments)
    if asked is not None and asked not in COMMANDS:
        from difflib import get_close_matches

        near = "".join(f" Did you mean {each}?" for each in get_close_matches(asked, COMMANDS, 1))
        parser.error(f'there is no command "{asked}".{near} See connect --help.')
    return parser.parse_args(arguments)


def _open_streams() -> None:
    """Replace standard streams that whoever started this process has closed: Python has None for them.

    Letters that the encoding of the output lacks are escaped, as on standard error.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _load(name: str) -> Any:
    if name in ("pause", "resume", "stop"):
        return getattr(importlib.import_module("connect.cli._orders"), name)
    # `try` is a word of Python's own.
    return importlib.import_module(f"connect.cli.{'trying' if name == 'try' else name}")


class _Version(argparse.Action):
    """Reads versions only when they are requested: importlib.metadata is slow to import."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from connect.cli import _versions

        for line in _versions.lines(verbose=bool(self.const)):
            print(line)
        parser.exit()


def _for_users(error: Exception) -> bool:
    """Whether the error's message was written for the user of the command, or is about a file."""
    return isinstance(error, ConnectError) or bool(getattr(error, "user_message", False) or _of_a_file(error))


def _of_a_file(error: Exception) -> str:
    """The system's error about a file, in words; empty for other errors."""
    if not isinstance(error, OSError):
        return ""
    if error.filename is not None:
        return f"{error.filename}: {(error.strerror or 'cannot be used').lower()}."
    if error.errno in (errno.ENOSPC, errno.EDQUOT):  # where something is written, the error names no file
        return f"What the command writes has no room: {(error.strerror or 'the disk is full').lower()}. Make room."
    return ""


def _one_line(error: Exception) -> str:
    text = _of_a_file(error) or str(error) or type(error).__name__
    return text if _for_users(error) else f"{type(error).__name__}: {' '.join(text.split())}"


def _exit_code(error: Exception) -> int:
    if isinstance(error, (ConfigError, PluginNotFoundError)):
        return INVALID
    return int(next((each.exit_code for each in chain_of(error) if hasattr(each, "exit_code")), FAILED))
