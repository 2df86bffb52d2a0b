"""`connect validate`: connector files against a running cluster, which changes nothing."""

import argparse

from connect.cli._connectors import print_json
from connect.cli._exit import INVALID, OK
from connect.cli._files import FORMS, add_files, check, invalid, read_files, stored, to_send, warn
from connect.cli._rest_client import add_options, client_of
from connect.telemetry.redaction import MASK

HELP = f"""\
Have a running cluster check connector files. The command lists all errors, with file and line, and changes nothing.
{FORMS}

examples:
  connect validate -f orders.json
  connect validate -f connectors/*.json            exit code 2 when one of them is wrong"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    add_files(parser)
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Check them all."""
    files, problems = read_files(args)
    client = client_of(args)
    for file in files:
        masked = any(MASK in value for value in file.config.values())
        check(client, file, to_send(file, stored(client, file.name) if masked else None, problems), problems)
    errors = problems.errors()
    if args.json:
        print_json({"valid": not errors, "errors": errors, "warnings": problems.warnings()})
        return INVALID if errors else OK
    warn(problems)
    if errors:
        return invalid(problems, "nothing was changed")
    for file in files:
        print(f"{file.path}: connector {file.name} is valid")
    return OK
