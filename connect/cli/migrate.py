"""`connect migrate`: what runs the connectors of a Java cluster here, and the files with which they move."""

from __future__ import annotations

import argparse

from connect.cli._connectors import print_json
from connect.cli._exit import FAILED, INVALID, OK
from connect.cli._rest_client import add_options, client_of
from connect.errors import ConfigError

HELP = """\
Say for each connector of a Java cluster what runs it here: Python's own connector, unchanged and faster; its jars, in a
JVM of its own; or what has to change first. Nothing is changed, in no cluster.

The connectors are those of a running cluster (--url), or of files (properties, JSON). With the Java workers' properties
file (--worker) their converters and plug-ins are known, and the file itself is checked for use by `connect distributed`
or `connect standalone`.

With --out the command writes a file for each connector, and one for the offsets of each source:
  FOLDER/connectors/NAME.json    for `connect apply`; of a cluster initially STOPPED; with --worker with the converters
                                 that the connector has from its workers, as the new ones may have others
  FOLDER/offsets/NAME.json       for `connect offsets set`

examples:
  connect migrate --url http://java1:8083 --worker connect-distributed.properties
  connect migrate --url http://java1:8083 --plugin-path /opt/connect/plugins --out moved/
  connect migrate --worker connect-standalone.properties orders.properties customers.properties

exit codes: 0 everything runs here, 1 a connector needs a change or its plug-in, 2 a file is wrong, 3 no answer"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "files", metavar="FILE", nargs="*", help="connectors, or folders of them, in place of a cluster"
    )
    parser.add_argument("--worker", metavar="FILE", help="the properties of the Java workers")
    parser.add_argument("--plugin-path", metavar="FOLDERS", help="where the jars of plug-ins are, with commas")
    parser.add_argument("--out", metavar="FOLDER", help="write the files with which the connectors move")
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Read, judge, show, write."""
    from connect.cli._files import invalid, warn
    from connect.cli._migration import Judge
    from connect.cli._migration_files import write
    from connect.cli._migration_sources import of_cluster, of_files, worker_from
    from connect.cli._migration_text import STEPS, show
    from connect.cli._problems import Problems
    from connect.cli._validation import validator

    if args.files and args.url:
        raise ConfigError("--url", "give either a cluster or files.")
    problems = Problems([args.worker] if args.worker else [])
    worker = worker_from(args.worker, args.plugin_path, problems)
    if worker is None:
        return invalid(problems, "nothing was looked at")
    if args.files:
        source, found, wrong = of_files(args.files)
        warn(wrong)
        if wrong.errors():
            return invalid(wrong, "nothing was looked at")
    else:
        source, found = of_cluster(client_of(args))
    with validator(worker) as validating:
        verdicts = [Judge(validating).judge(connector) for connector in found]
    written = write(args.out, verdicts, worker.written if args.worker else {}) if args.out else []
    if args.json:
        print_json(
            {
                "source": source,
                "worker": {"errors": problems.errors(), "warnings": problems.warnings()},
                "connectors": [verdict.for_programs() for verdict in verdicts],
                "written": written,
            }
        )
    else:
        show(source, verdicts, problems, worker_known=bool(args.worker), writes=bool(args.out))
        if args.out:
            print(f"\nWritten to {args.out}, readable by you alone: configurations hold secrets.")
            if not args.files:
                print(STEPS.format(out=args.out))
    if problems.errors():
        return INVALID
    return FAILED if any(verdict.plugin is None or verdict.errors for verdict in verdicts) else OK
