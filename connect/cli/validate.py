"""`connect validate`: validates connector files by a running cluster or a worker's file, and changes nothing."""

import argparse
from collections.abc import Sequence

from connect.cli._connectors import print_json
from connect.cli._exit import INVALID, OK
from connect.cli._files import FORMS, add_files, check, invalid, read_files, stored, to_send, warn
from connect.cli._problems import Problems
from connect.cli._rest_client import RestClient, add_options, client_of
from connect.errors import ConfigError
from connect.settings.connector_files import ConnectorFile
from connect.telemetry.redaction import MASK

HELP = f"""\
Check connector files. The command lists all errors, with file and line, and changes nothing. A running cluster checks
them; with --worker no cluster is needed: the plug-ins of this machine check them as for a worker with that file.
{FORMS}

examples:
  connect validate -f orders.json
  connect validate -f connectors/*.json            exit code 2 when one of them is wrong
  connect validate -f pipelines/ --values prod.yaml --worker worker.properties
                                                   without a cluster, in continuous integration"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_files(parser)
    parser.add_argument("--worker", metavar="FILE", help="a worker's properties: check here, without a cluster")
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Check them all."""
    files, problems = read_files(args)
    if args.worker:
        _here(args, files, problems)
    else:
        _by_cluster(client_of(args), files, problems)
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


def _by_cluster(client: RestClient, files: Sequence[ConnectorFile], problems: Problems) -> None:
    for file in files:
        masked = any(MASK in value for value in file.config.values())
        check(client, file, to_send(file, stored(client, file.name) if masked else None, problems), problems)


def _here(args: argparse.Namespace, files: Sequence[ConnectorFile], problems: Problems) -> None:
    from connect.cli._validation import validator
    from connect.cli._worker_files import read_any_worker, take_validation

    if args.url:
        raise ConfigError("--url", "give either a cluster or --worker.")
    worker = read_any_worker(args.worker, problems)
    if worker is None:
        return
    with validator(worker) as validating:
        for file in files:
            take_validation(file, worker, validating.validate(to_send(file, None, problems)), problems)
