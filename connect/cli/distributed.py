"""`connect distributed`: one worker of a pool."""

from __future__ import annotations

import argparse

from connect.worker.processes import start_server

HELP = """\
Run one worker of a pool that shares connectors and tasks. Workers with the same group.id and the same three topics are
one pool: start as many as there is work for, on as many machines as you like; stop any of them, and the others take
over. Connectors are created over REST, at any worker.

examples:
  connect distributed config/connect-distributed.properties
  curl -X POST -H 'Content-Type: application/json' -d @orders.json http://localhost:8083/connectors

A worker may join a pool of Apache Kafka Connect workers, and they one of ours."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the file."""
    parser.add_argument("worker", metavar="WORKER.properties", help="the worker's file")
    parser.add_argument("--no-wait", action="store_true", help="end with exit code 3 if no broker answers yet")


def run(args: argparse.Namespace) -> int:
    """Run the worker to its end."""
    start_server()  # loads what tasks need, while this process loads what the worker needs
    from connect.cli._pool_worker import run_pool_worker

    return run_pool_worker(args.worker, wait=not args.no_wait)
