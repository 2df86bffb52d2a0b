"""`connect try`: a connector's converters and transformations on sample records, with the result of each step."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from connect.cli._connectors import print_json
from connect.cli._exit import FAILED, OK
from connect.cli._files import add_values
from connect.cli._rest_client import add_options, client_of
from connect.errors import ConfigError
from connect.telemetry.redaction import MASK

if TYPE_CHECKING:
    from connect.cli._pipelines import Pipeline, WorkerSettings
    from connect.data.record import Record

HELP = """\
Run the converters and transformations of a connector on sample records, in this process, without deploying anything:
shows each record before, what every step changed in it, and the record then; or which step dropped it, or failed.

FILE is a connector: properties, JSON, or YAML with one connector; with --url the name of one of a running cluster.
Samples are read from a topic (no offset moves, no group is joined), from a file with a record as JSON on each line, or
from the command line. For a sink they are messages in Kafka, for a source the records that its task returns.

examples:
  connect try orders.json --topic orders --bootstrap-server localhost:9092     the first records of a topic
  connect try orders.json --topic orders --from-end --worker-config worker.properties
  connect try orders.json --value '{"id": "5"}' --key k1 --header trace=abc
  connect try orders.json --file samples.jsonl --json
  connect try orders --url http://worker1:8083 --worker-config worker.properties --topic orders

a line of samples.jsonl, of which all but "value" may be left out:
  {"topic": "orders", "key": "k1", "value": {"id": 5}, "headers": {"trace": "abc"}, "timestamp": 1700000000000}"""

_LIMIT = 10
#: What of a connector's keys is used here.
_IN_USE = ("key.converter", "value.converter", "header.converter", "transforms.", "predicates.", "consumer.override.")
_READ_S = 30.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("config", metavar="FILE", help="the connector: a file, or with --url a name")
    samples = parser.add_argument_group("samples")
    samples.add_argument("--topic", help="read them from this topic; beside --value or --file, the topic they are for")
    samples.add_argument("--partition", type=int, metavar="P", help="of the topic alone this partition")
    samples.add_argument("--offset", type=int, metavar="O", help="from this offset on (with --partition)")
    samples.add_argument(
        "--limit", type=int, metavar="N", help=f"so many (default: of a topic {_LIMIT}, of a file all)"
    )
    samples.add_argument("--from-end", action="store_true", help="the last ones of the topic")
    samples.add_argument("--file", dest="samples", metavar="FILE", help="a record as JSON on each line; - is stdin")
    samples.add_argument("--value", help="the value of one record: text for a sink, JSON or text for a source")
    samples.add_argument("--key", help="its key, likewise")
    samples.add_argument("--header", action="append", default=[], metavar="KEY=VALUE", help="a header; repeatable")
    samples.add_argument("--timestamp", type=int, metavar="MS", help="its timestamp, since the epoch")
    parser.add_argument(
        "--worker-config", metavar="FILE", help="the worker's properties: converters, brokers, plug-ins"
    )
    add_values(parser)
    parser.add_argument("--bootstrap-server", metavar="HOST:PORT", help="the brokers, instead of the worker's")
    parser.add_argument("--as", dest="kind", choices=["sink", "source"], help="if the plug-in is not installed here")
    parser.add_argument("--full", action="store_true", help="show long values whole")
    add_options(parser, key="--cert-key")


def run(args: argparse.Namespace) -> int:
    """Try each sample. Exit code 1 when one fails."""
    from connect.cli._pipelines import WorkerSettings, open_pipeline
    from connect.cli._trial_text import told
    from connect.pipeline.trial import Trial

    _consistent(args)
    worker = WorkerSettings.read(args.worker_config)
    config, where = _config(args)
    pipeline = open_pipeline(config, worker, where, args.kind)
    if pipeline.note:
        print(f"warning: {pipeline.note}", file=sys.stderr)
    trial = Trial(pipeline.chain, pipeline.dead_letters, pipeline.retry_topic)
    failed, shown = 0, []
    try:
        number = 0
        for number, record in enumerate(_samples(args, pipeline, worker), 1):
            outcome = trial.run(record)
            failed += outcome.verdict == "failed"
            if args.json:
                shown.append(outcome.plain())
            else:
                print(("\n" if number > 1 else "") + told(outcome.seen(), f"record {number}", full=args.full))
    finally:
        trial.close()
    if args.json:
        print_json(shown)
    elif not number:
        print("connect: there was no record to try.", file=sys.stderr)
    return FAILED if failed else OK


def _consistent(args: argparse.Namespace) -> None:
    given = args.value is not None or args.key is not None
    if given and args.samples:
        raise ConfigError("--file", "give either --file, or --value and --key.")
    if (given or args.samples) and (args.from_end or args.offset is not None):
        raise ConfigError("--topic", "--from-end and --offset are for reading a topic, without --file and --value.")
    if not given and not args.samples and not args.topic:
        raise ConfigError("--topic", "there is nothing to try. Give --topic, --file, or --value.")
    if args.offset is not None and (args.partition is None or args.from_end):
        raise ConfigError("--offset", "belongs to one partition: add --partition, and leave out --from-end.")
    if args.limit is not None and args.limit < 1:
        raise ConfigError("--limit", "is at least 1.")


def _config(args: argparse.Namespace) -> tuple[dict[str, str], Callable[[str], str]]:
    """The connector's configuration, and a function for the position of a key in it."""
    if args.url:
        config: dict[str, str] = client_of(args).get("connectors", args.config, "config")
        if hidden := sorted(key for key, value in config.items() if MASK in value and key.startswith(_IN_USE)):
            names = ", ".join(hidden)
            print(f"warning: the cluster hides {names}; try the connector's file if that matters.", file=sys.stderr)
        return config, lambda _: f"connector {args.config}"
    from connect.cli._pipeline_files import Values, single
    from connect.cli._problems import Problems

    problems = Problems([args.config])
    file = single(args.config, Values.of(args.values, args.assignments), problems)
    for each in problems.errors():  # most placeholders, such as that of a table's name, change nothing here
        print(f"warning: {each}", file=sys.stderr)
    return file.config, lambda key: str(file.where(key))


def _samples(args: argparse.Namespace, pipeline: Pipeline, worker: WorkerSettings) -> Iterator[Record]:
    topic = args.topic or pipeline.topic
    if args.value is not None or args.key is not None:
        yield _one(args, pipeline, topic)
    elif args.samples:
        yield from _of_file(args, pipeline, topic)
    else:
        yield from _of_topic(args, pipeline, worker)


def _one(args: argparse.Namespace, pipeline: Pipeline, topic: str) -> Record:
    from connect.pipeline.samples import sample

    def written(text: str | None) -> Any:
        if text is None:
            return None
        if pipeline.kind == "sink":
            return os.fsencode(text)  # the bytes that were typed
        try:
            return json.loads(text)
        except ValueError:
            return text

    headers = []
    for text in args.header:
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigError("--header", f'"{text}" is not KEY=VALUE.')
        headers.append([key, written(value)])
    fields: dict[str, Any] = {"key": written(args.key), "value": written(args.value)}
    fields["headers"] = [{"key": key, "value": value} for key, value in headers]
    if args.timestamp is not None:
        fields["timestamp"] = args.timestamp
    if args.partition is not None:
        fields["partition"] = args.partition
    return sample(pipeline.kind, fields, topic)


def _of_file(args: argparse.Namespace, pipeline: Pipeline, topic: str) -> Iterator[Record]:
    from connect.pipeline.samples import SampleError, sample

    name = "standard input" if args.samples == "-" else args.samples
    try:
        lines = sys.stdin if args.samples == "-" else Path(args.samples).open(encoding="utf-8")  # noqa: SIM115
    except OSError as error:
        raise ConfigError("--file", f"{name}: {(error.strerror or 'cannot be read').lower()}.") from error
    with lines:
        taken = 0
        for number, line in enumerate(_utf8(lines, name), 1):
            if not line.strip():
                continue
            if taken == args.limit:
                return
            try:
                yield sample(pipeline.kind, json.loads(line), topic, taken)
            except SampleError as error:
                raise ConfigError("--file", f"{name}:{number}: {error}") from error
            except ValueError as error:
                raise ConfigError("--file", f"{name}:{number}: this is not JSON ({error}).") from error
            taken += 1


def _utf8(lines: Iterable[str], name: str) -> Iterator[str]:
    try:
        yield from lines
    except UnicodeDecodeError as error:
        raise ConfigError("--file", f'{name}: this is not UTF-8. Write other bytes as {{"base64": "..."}}.') from error


def _of_topic(args: argparse.Namespace, pipeline: Pipeline, worker: WorkerSettings) -> Iterator[Record]:
    from connect.kafka.reading.browse import Browser, Span
    from connect.pipeline.samples import consumed

    if pipeline.kind == "source":
        raise ConfigError("--topic", "a source has no topic to read. Give its records with --file or --value.")
    limit = args.limit or _LIMIT
    browser = Browser(worker.with_brokers(args.bootstrap_server), {"name": "try", **pipeline.config})
    try:
        spans = browser.spans(args.topic)
        if args.partition is not None:
            if args.partition not in spans:
                raise ConfigError("--partition", f"topic {args.topic} has the partitions {sorted(spans)}.")
            spans = {args.partition: spans[args.partition]}
        if args.offset is not None:
            spans = {number: Span(max(args.offset, span.begin), span.end) for number, span in spans.items()}
        for one in browser.some(args.topic, spans, limit, _READ_S, from_end=args.from_end):
            yield consumed(
                one.topic, one.value, one.key, one.partition, one.offset, one.timestamp, one.headers, one.timestamp_type
            )
    except TimeoutError as error:
        raise ConfigError("--topic", str(error)) from error
    finally:
        browser.close()
