"""`connect bench`: how fast a connector runs on this machine, where its time goes, and its bottleneck."""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import secrets
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from connect.cli._bench_figures import Look, Outcome, look, outcome
from connect.cli._connectors import agree, print_json
from connect.cli._exit import FAILED, INVALID, OK
from connect.cli._own_worker import Worker, worker
from connect.cli._pipeline_files import Values, single
from connect.cli._pipelines import kind_of
from connect.cli._problems import Problems
from connect.cli._rest_client import RestClient
from connect.cli._statuses import measured_of, reason
from connect.cli._top_lines import size
from connect.cli._worker import embedded_broker
from connect.cli._worker_files import OFFSET_FILE, WorkerFile, read_any_worker
from connect.connector_states import parts
from connect.errors import ConfigError, ConnectError
from connect.http import exchange
from connect.kafka.admin.client import Admin
from connect.kafka.clients.settings import task_java_settings
from connect.pipeline.samples import Kind
from connect.plugins import Plugins
from connect.settings.properties import dumps

HELP = """\
Run a connector in a worker of its own for a while, and say how many records a second it moves, what that costs, and
what holds it up.

A sink reads its topics from their first records, in a group of its own that is deleted afterwards, and writes to its
target: choose one that may be written to. A source reads from its beginning into a topic of its own that is deleted
afterwards. The stored offsets of the connector are neither used nor changed.

examples:
  connect bench worker.properties orders.json                   20 seconds, or until the topics are read
  connect bench worker.properties orders.yaml --records 1000000 --yes
  connect bench worker.properties orders.json --set tasks.max=4 --json"""

_LOOK_EVERY_S = 0.25
_FIRST_WITHIN_S = 60.0
_STILL_S = 2.0
_LEAST_S = 1.0
#: Keys of the worker that are for others to reach it by.
_OUTSIDE = ("listeners", "admin.listeners", "rest.", "restart.")
#: Keys of a connector that name what its usual run reads or writes besides: its group, its dead letters.
_SHARED = (
    *("consumer.override.group.", "consumer.override.auto.offset.reset"),
    *("errors.deadletterqueue.", "errors.retry.topics"),
)
_NOT_OF_A_TOPIC = re.compile(r"[^a-zA-Z0-9._-]")


class BenchError(ConnectError):
    """There is nothing to measure: the connector fails, or moves too few records."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("worker", metavar="WORKER", help="the worker's properties")
    parser.add_argument("connector", metavar="FILE", help="the connector: properties, JSON or YAML")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long to measure (default: %(default)g)")
    parser.add_argument("--records", type=int, default=0, help="end after so many records")
    parser.add_argument(
        "--values", action="append", default=[], metavar="FILE", help="a YAML file with values for placeholders"
    )
    parser.add_argument(
        "--set", dest="changes", action="append", default=[], metavar="KEY=VALUE", help="another value for a key"
    )
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask whether a sink may write to its target")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(args: argparse.Namespace) -> int:
    """Start, measure, report."""
    if not (math.isfinite(args.seconds) and args.seconds >= _LEAST_S):
        raise ConfigError("--seconds", "is at least 1.")
    problems = Problems([args.worker, args.connector])
    settings = read_any_worker(args.worker, problems)
    if settings is None or problems.errors():
        problems.report(sys.stderr)
        return INVALID
    values = replace(Values.of(args.values, []), option="--values FILE")
    file = single(args.connector, values, problems, _changes(args.changes))
    if problems.errors():
        problems.report(sys.stderr)
        return INVALID
    kind, _ = kind_of(Plugins.discover(settings.config["plugin.path"] or []), file.config)
    if kind == "sink" and not agree(f"{file.name} will write to its target. Run it?", args):
        return FAILED
    told = _told_to_end()
    with _own(settings, kind, file.name, file.config) as (name, files), tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "worker.log"
        with worker(Path.cwd(), dict(os.environ), log, files) as running:
            found = _measured(running, name, kind, args, told)
    if args.json:
        print_json({**found.for_programs(), "connector": file.name})
    else:
        _tell(file.name, found)
    return OK


def _told_to_end() -> list[int]:
    """The signals to end, as they come. Each raises SystemExit too, so that what was made for the run is removed."""
    told: list[int] = []

    def end(number: int, _: object) -> None:
        told.append(number)
        sys.exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    return told


def _changes(written: list[str]) -> dict[str, str]:
    found = {}
    for each in written:
        key, equals, value = each.partition("=")
        if not equals:
            raise ConfigError("--set", f'"{each}" is not KEY=VALUE.')
        found[key] = value
    return found


@contextmanager
def _own(
    settings: WorkerFile, kind: Kind, connector: str, config: Mapping[str, str]
) -> Iterator[tuple[str, tuple[str, str]]]:
    """Files for a run that shares nothing with the connector's usual one: its name, offsets, group and topics."""
    name = f"bench-{_NOT_OF_A_TOPIC.sub('-', connector)[:200]}-{secrets.token_hex(3)}"
    with tempfile.TemporaryDirectory(prefix="connect-bench-") as folder:
        here = Path(folder)
        raw = {**settings.raw, **embedded_broker(settings.config)}
        with closing(Admin(task_java_settings("admin", raw, {}), "connect-bench")) as admin:
            if kind == "source":
                admin.make_topic(name, -1, -1, {})
            written = {key: value for key, value in settings.written.items() if not key.startswith(_OUTSIDE)}
            written |= {OFFSET_FILE: str(here / "offsets"), "restart.policy": "off"}
            if kind == "sink":  # here, because its connectors may be allowed no overrides
                written |= {"consumer.group.id": f"connect-{name}", "consumer.auto.offset.reset": "earliest"}
            own = {key: value for key, value in config.items() if not key.startswith(_SHARED)}
            own |= {"name": name, **({} if kind == "sink" else _into(name, config))}
            files = here / "worker.properties", here / "connector.json"
            _write(files[0], dumps(written))
            _write(files[1], json.dumps(own))
            try:
                yield name, (str(files[0]), str(files[1]))
            finally:
                if kind == "source":
                    admin.delete_topic(name)
                else:
                    admin.delete_group(f"connect-{name}")


def _into(topic: str, config: Mapping[str, str]) -> dict[str, str]:
    """The keys that send all records of a source into this topic."""
    chain = [each.strip() for each in config.get("transforms", "").split(",") if each.strip()]
    return {
        "transforms": ",".join([*chain, "connectBench"]),
        "transforms.connectBench.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.connectBench.regex": ".*",
        "transforms.connectBench.replacement": topic,
    }


def _write(path: Path, text: str) -> None:
    path.touch(mode=0o600)  # it may hold secrets
    path.write_text(text, encoding="utf-8")


def _measured(running: Worker, name: str, kind: str, args: argparse.Namespace, told: list[int]) -> Outcome:
    """Wait for the first records, then for the end. Raises `BenchError` where the connector fails."""
    client = RestClient(running.url, timeout=30)
    first: Look | None = None
    last: Look | None = None
    began = time.monotonic()
    while True:
        time.sleep(_LOOK_EVERY_S)
        if told:
            sys.exit(128 + told[0])  # Python ignores what is raised while it forks
        now = time.monotonic()
        if running.process.poll() is not None:
            raise BenchError(f"The worker ended. {_last_words(running.log)}")
        found = _looked(running.url, client, name)
        if found is not None and found.records:
            if first is None:
                first = last = found
            elif last is None or found.records > last.records:
                last = found
        if first is None or last is None:
            if now - began > _FIRST_WITHIN_S:
                raise BenchError(f"No record came within {_FIRST_WITHIN_S:.0f} s: there is nothing to measure.")
            continue
        still = now - last.at > _STILL_S
        if still or last.at - first.at >= args.seconds or (args.records and last.records >= args.records):
            break
    if last.at - first.at < _LEAST_S:
        raise BenchError(
            f"{last.records:,.0f} records were moved in less than {last.at - first.at + _LOOK_EVERY_S:.1f} s: too few"
            " to measure. Write more into the topics, or give the source more to read."
        )
    return outcome(name, kind, first, last)


def _looked(url: str, client: RestClient, name: str) -> Look | None:
    """None while the worker does not answer yet. Raises `BenchError` when the connector or a task FAILED."""
    try:
        statuses, metrics = measured_of(client)
        page = exchange("GET", f"{url}/metrics", timeout=30)
    except ConnectError:
        return None
    status = next((each for each in statuses if each["name"] == name), None)
    if status is None:
        return None
    if failed := [part for part in parts(status) if part["state"] == "FAILED"]:
        raise BenchError(f"It failed: {reason(failed[0])}")
    if not status["tasks"]:
        return None
    processes = {
        task["id"]: (_figure(task, "cpu-seconds-total"), _figure(task, "pss-bytes"))
        for task in metrics.get(name, {}).get("tasks", ())
    }
    return look(time.monotonic(), page.content.decode(), name, processes)


def _figure(task: Mapping[str, object], which: str) -> float:
    groups = task.get("metrics")
    found = groups.get("connect-task-metrics", {}) if isinstance(groups, dict) else {}
    return float(found.get(which) or 0.0)


def _last_words(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    if lines and lines[-1].endswith("nothing was started."):  # the errors of the configuration stand before
        return "\n".join(line for line in lines if not line.startswith("warning: "))
    return next((line for line in reversed(lines) if "ERROR" in line or "connect:" in line), lines[-1] if lines else "")


def _tell(connector: str, found: Outcome) -> None:
    tasks = f"{found.tasks} task{'s' if found.tasks > 1 else ''}"
    print(f"{connector}: {found.kind}, {tasks}, {found.seconds:.1f} s\n")
    for what, text in (
        ("records", f"{found.records:,.0f}, {found.records_per_second:,.0f} a second"),
        ("bytes", f"{size(found.bytes_per_second)} a second"),
        ("batch", f"{found.records_per_batch:,.0f} records"),
        ("CPU", f"{found.cores:.2f} cores, {found.cpu_us_per_record:.1f} us a record"),
        ("memory", size(found.memory_bytes)),
        ("errors", f"{found.errors:,.0f}"),
    ):
        print(f"  {what:<9} {text}")
    print("\ntime of the tasks:")
    for name, share in found.shares.items():
        print(f"  {share:>4.0%}  {name}")
    print(f"\nbottleneck: {found.bottleneck}\nnext:       {found.advice}")
