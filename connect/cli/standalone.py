"""`connect standalone`: one worker that runs the connectors of some files."""

from __future__ import annotations

import argparse

from connect.worker.processes import start_server

HELP = """\
Run connectors in one worker on this machine, until Ctrl-C or SIGTERM. The file in offset.storage.file.filename keeps
the offsets of sources, so the next start continues there.

The first file is the worker's: brokers, converters, the file for offsets. Every other file is one
connector, as properties (key=value) or as JSON, as Kafka Connect takes them. Before anything starts the worker checks
all files and lists every error in them.

bootstrap.servers=embedded in the worker's file starts a Kafka broker on this machine when none runs.
log.level=DEBUG|INFO|WARN|ERROR and log.format=text|json there set what is logged, to standard error, and how.

examples:
  connect standalone config/connect-standalone.properties config/connect-file-source.properties
  connect standalone worker.properties orders.json customers.properties
  tail -F app.log | connect standalone worker.properties connect-console-source.properties

When a connector fails, the others run on; its error is in the log, and beside its name on a terminal."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the files."""
    parser.add_argument("worker", metavar="WORKER.properties", help="the worker's file")
    parser.add_argument("connectors", metavar="CONNECTOR", nargs="*", help="a file for each connector")


def run(args: argparse.Namespace) -> int:
    """Run the worker to its end."""
    start_server()  # loads what tasks need, while this process loads what the worker needs
    from connect.cli._worker import run_worker

    return run_worker(args.worker, args.connectors)
