"""`connect doctor`: finds what would stop or disturb a worker, before it starts, or while it runs."""

from __future__ import annotations

import argparse
import logging

from connect.cli._connectors import print_json
from connect.cli._moments import seconds

HELP = """\
Look at everything that would stop or hurt a worker with this file: the file itself, brokers, the worker's topics and
group, plug-ins, certificates, listeners, Java, disks, limits, clocks, and with --connector the targets of connectors.
Nothing is changed. Without a file the command looks at this machine alone.

Each finding says what was looked at, what was found, and what to do.

examples:
  connect doctor worker.properties
  connect doctor worker.properties --connector orders.json customers.json
  connect doctor worker.properties --json | jq '.findings[] | select(.level == "error")'

exit codes: 0 no errors, 1 an error on this machine, 2 an error in a configuration, 3 a server that cannot be reached"""

_PATIENCE_S = 5.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("worker", metavar="FILE", nargs="?", help="the worker's properties")
    parser.add_argument(
        "--connector",
        dest="connectors",
        action="extend",
        nargs="+",
        default=[],
        metavar="FILE",
        help="a connector's file: validated, and its targets looked for; repeatable",
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=_PATIENCE_S,
        metavar="SECONDS",
        help="for each answer over the network (default: %(default)g)",
    )
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def run(args: argparse.Namespace) -> int:
    """Run all checks. Returns the exit code of the worst finding."""
    from connect.cli._doctor.checks import examine
    from connect.cli._doctor.finding import exit_code
    from connect.cli._doctor.shown import shown
    from connect.cli._doctor.subject import read_subject

    if not args.debug:
        logging.getLogger().addHandler(logging.NullHandler())  # the findings say it
    subject = read_subject(args.worker, args.connectors, args.timeout, debug=args.debug)
    findings = list(examine(subject))
    code = exit_code(findings)
    if args.json:
        worst = max(finding.level for finding in findings)
        print_json(
            {
                "worker": args.worker,
                "connectors": args.connectors,
                "worst": worst.word,
                "exit_code": code,
                "findings": [finding.plain for finding in findings],
            }
        )
    else:
        print(shown(findings))
    return code
