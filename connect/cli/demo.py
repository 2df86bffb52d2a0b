"""`connect demo`: lines flow from a file through Kafka into another file, by the usual commands and configurations.

Where Spark is installed they become rows of a Delta table too.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from connect.cli._demo_guard import broker_data, guarded
from connect.cli._demo_run import FILES, DemoError, append, await_, config_folder, copy_changed, say
from connect.cli._demo_spark import show_lines_as_rows, show_table
from connect.cli._exit import OK
from connect.cli._own_worker import worker
from connect.errors import ConfigError
from connect.kafka.broker import embedded
from connect.storage.file_lock import FileLock, Locked
from connect.worker import orphans

HELP = """\
Watch lines flow from a file through a real Kafka broker into another file. It takes the property files of Kafka's own
quickstart, runs `connect standalone` with them in a temporary folder, and removes that folder at the end. The broker is
the demo's own and is stopped; what it keeps in the user's data folder makes the next time quicker.

Where Spark is installed, the lines become rows of a Delta table as well.

examples:
  connect demo                    all of it
  connect demo --no-spark         without the table
  connect demo --only-spark       a topic of orders into a table, by Spark on this machine
  connect demo --only-spark --cluster 2
                                  the same by a Spark cluster of two workers, which is started for it"""

_LINES_BEFORE = ("foo", "bar")
_LINES_WHILE = ("a line that is appended while the worker runs", "another one", "ümläuts, 漢字 and 🚀 as well")
_MANY = 100_000
_GONE_WITHIN_S = 20.0
# A worker makes a socket in its temporary folder; a socket's name may have 107 bytes, and 31 of them are the worker's.
_SHORT = 70


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare whether Spark takes part."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--no-spark", action="store_true", help="leave Spark out")
    which.add_argument("--only-spark", action="store_true", help="show only a topic that becomes a table")
    parser.add_argument(
        "--cluster", type=int, metavar="N", help="with --only-spark: on a Spark cluster of N workers, started for it"
    )


def run(args: argparse.Namespace) -> int:
    """Run it, step by step."""
    if args.cluster is not None and not args.only_spark:
        raise ConfigError("--cluster", "needs --only-spark.")
    spark = importlib.util.find_spec("pyspark") is not None
    if args.only_spark and not spark:
        raise DemoError("Spark is not installed. Install it: pip install 'connect-runtime[spark]'")
    began = time.monotonic()
    orphans.adopt()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # what was started is stopped all the same
    # The worker looks for its embedded broker in the user's data folder. The demo's is inside it, beside the user's.
    data_home = embedded.default_data().parent / "demo"
    with _alone(data_home), guarded(data_home) as folder:
        _start_broker(broker_data(data_home))
        environment = {**os.environ, "XDG_DATA_HOME": str(data_home)}
        if len(str(folder)) <= _SHORT:
            environment["TMPDIR"] = str(folder)  # what is killed leaves some files there, which go with it
        if args.only_spark:
            show_table(folder, environment, args.cluster)
        else:
            _show(folder, environment, began, spark=spark and not args.no_spark)
    orphans.reap(_GONE_WITHIN_S)
    say("")
    say("Done; nothing of it runs any more. What to try next:")
    for command in _next_commands():
        say(f"    {command}")
    return OK


@contextmanager
def _alone(data_home: Path) -> Iterator[None]:
    """Only one demo at a time: two would read each other's topic."""
    data_home.mkdir(parents=True, exist_ok=True)
    try:
        lock = FileLock(data_home / "demo.lock")
    except Locked as other:
        raise DemoError(f"A demo runs already (process {other.pid}). Wait until it has ended.") from None
    try:
        yield
    finally:
        lock.release()


def _start_broker(data: Path) -> None:
    say("1. Start Apache Kafka on this machine (the first time its jars are fetched)")
    started = time.monotonic()
    broker = embedded.ensure_running(data, port=0, say=lambda line: say(f"   {line}"))
    say(f"   it serves on {broker.bootstrap_servers} after {time.monotonic() - started:.1f} s")


def _show(folder: Path, environment: dict[str, str], began: float, *, spark: bool) -> None:
    say("2. Take the property files of Kafka's quickstart")
    _copy_files(folder)
    say(f"   {FILES[0]}   the worker")
    say(f"   {FILES[1]}  test.txt -> topic connect-test")
    say(f"   {FILES[2]}    topic connect-test -> test.sink.txt")
    source, sink, log = folder / "test.txt", folder / "test.sink.txt", folder / "worker.log"
    append(source, _LINES_BEFORE)
    say(f"3. Run them: connect standalone {' '.join(FILES)}")
    with worker(folder, environment, log, FILES) as running:

        def arrived() -> bool:
            """Whether the second file ends with the first: a killed demo may have left lines in the topic."""
            there = sink.stat().st_size if sink.exists() else 0
            return there >= source.stat().st_size and sink.read_bytes().endswith(source.read_bytes())

        await_(arrived, running)
        before = " and ".join(f'"{line}"' for line in _LINES_BEFORE)
        say(f"   {before} were in test.txt, and are in test.sink.txt {time.monotonic() - began:.1f} s after the start")
        say("4. Append lines to test.txt while it runs")
        for line in _LINES_WHILE:
            appended = time.monotonic()
            append(source, [line])
            await_(arrived, running)
            last = sink.read_text(encoding="utf-8").splitlines()[-1]
            say(f'   test.txt <- "{line}"')
            say(f'   test.sink.txt -> "{last}"  ({(time.monotonic() - appended) * 1000:.0f} ms)')
        appended = time.monotonic()
        append(source, (f"line {number} of many" for number in range(1, _MANY + 1)))
        await_(arrived, running)
        say(f"   and {_MANY:,} lines more: all there, byte for byte, after {time.monotonic() - appended:.1f} s")
        if spark:
            show_lines_as_rows(folder, environment, source, _LINES_WHILE)
        elif importlib.util.find_spec("pyspark") is None:
            say("   With Spark they would become rows of a Delta table too: pip install 'connect-runtime[spark]'")
        say(f"{6 if spark else 5}. Stop the worker and the broker")


def _copy_files(folder: Path) -> None:
    """Copy the files unchanged, except the offsets' file, which belongs into the folder."""
    for name in FILES:
        copy_changed(name, folder, {"offset.storage.file.filename": "connect.offsets"} if name == FILES[0] else {})


def _next_commands() -> list[str]:
    command = "connect" if shutil.which("connect") else os.path.relpath(Path(sys.prefix, "bin", "connect"))
    config = os.path.relpath(config_folder())
    return [
        f"{command} standalone {' '.join(f'{config}/{name}' for name in FILES)}",
        "echo hello >> test.txt; cat test.sink.txt        # in another terminal, while it runs",
        f"{command} standalone --help",
        f"{command} plugins list",
        f"{command} broker --help",
    ]
