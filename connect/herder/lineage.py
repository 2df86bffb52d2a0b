"""Tells OpenLineage about the runs of tasks: when they start, end and fail, and what they read and write.

Events are sent by a thread of their own, in order. What cannot be sent is lost, and logged once: a task never waits for
it.

https://openlineage.io/docs/spec/object-model
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from connect import __version__
from connect.errors import ConfigError, one_line
from connect.settings.lineage_keys import LineageOptions, lineage_options
from connect.worker.messages import TaskSpec

if TYPE_CHECKING:
    from openlineage.client import OpenLineageClient
    from openlineage.client.event_v2 import RunEvent

log = logging.getLogger("connect.lineage")

PRODUCER: Final = f"https://pypi.org/project/connect-runtime/{__version__}"
#: Events that wait while the receiver is away.
_MOST: Final = 10_000
_MOST_WORDS: Final = 2_000


@dataclass(slots=True)
class _Run:
    """A task from its start to its end."""

    id: str
    options: LineageOptions
    spec: TaskSpec
    others: list[tuple[str, str]]
    topics: set[str] = field(default_factory=set)


class Lineage:
    """The reporter of a worker. Its methods are for any thread, and do not block."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: dict[tuple[str, int], _Run] = {}
        # Both come with the first event: most workers have none.
        self._events: queue.Queue[tuple[str, RunEvent] | None]
        self._clients: dict[str, OpenLineageClient] = {}
        self._thread: threading.Thread | None = None
        self._told = ""

    def running(self, spec: TaskSpec, others: Iterable[tuple[str, str]]) -> None:
        """A task has started.

        Args:
            spec: which.
            others: namespace and name of what it reads or writes besides topics.
        """
        try:
            options = lineage_options(spec.worker_config, spec.connector_config)
        except ConfigError as error:  # of the worker's file; a connector's own was checked
            self._tell(str(error))
            return
        if not options.enabled:
            return
        if find_spec("openlineage") is None:
            self._tell("OpenLineage is told nothing: its client is missing. Install connect-runtime[openlineage].")
            return
        from openlineage.client.uuid import generate_new_uuid

        key = (spec.connector, spec.task)
        with self._lock:
            if key in self._runs:
                return  # it was resumed
            self._runs[key] = run = _Run(str(generate_new_uuid()), options, spec, list(others))
        self._send(run, "START")

    def uses(self, spec: TaskSpec, topics: Iterable[str]) -> None:
        """A task reads or writes further topics."""
        with self._lock:
            run = self._runs.get((spec.connector, spec.task))
            if run is None or run.topics.issuperset(topics):
                return
            run.topics.update(topics)
        self._send(run, "RUNNING")

    def ended(self, spec: TaskSpec, error: str | None) -> None:
        """A task has ended; with the error, if it failed."""
        with self._lock:
            run = self._runs.pop((spec.connector, spec.task), None)
        if run is not None:
            self._send(run, "COMPLETE" if error is None else "FAIL", error)

    def close(self, within: float) -> None:
        """Send what is left, within this many seconds."""
        thread = self._thread
        if thread is None:
            return
        try:
            self._events.put_nowait(None)
        except queue.Full:
            return
        thread.join(within)

    def _send(self, run: _Run, kind: str, error: str | None = None) -> None:
        with self._lock:
            if self._thread is None:
                self._events = queue.Queue(_MOST)
                self._thread = threading.Thread(target=self._work, name="lineage", daemon=True)
                self._thread.start()
        try:
            self._events.put_nowait((run.options.config_file, event(run, kind, error)))
        except queue.Full:
            self._tell("OpenLineage's receiver is away for long: events are lost.")
        except Exception as failed:
            self._tell(f"An event for OpenLineage could not be made: {one_line(failed)}")

    def _work(self) -> None:
        while (item := self._events.get()) is not None:
            file, made = item
            try:
                if (client := self._clients.get(file)) is None:
                    client = self._clients[file] = _client(file)
                client.emit(made)
                self._told = ""
            except Exception as error:  # a client raises whatever its transport does
                self._tell(f"An event could not be sent to OpenLineage: {one_line(error)[:300]}")

    def _tell(self, words: str) -> None:
        if words != self._told:
            self._told = words
            log.warning("%s", words)


def event(run: _Run, kind: str, error: str | None) -> RunEvent:
    """The event of a run. `kind` is START, RUNNING, COMPLETE or FAIL."""
    from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
    from openlineage.client.facet_v2 import (
        documentation_job,
        error_message_run,
        job_type_job,
        ownership_job,
        processing_engine_run,
        tags_job,
    )

    options, spec = run.options, run.spec
    of_job: dict[str, Any] = {
        "jobType": job_type_job.JobTypeJobFacet("STREAMING", "KAFKA_CONNECT", "TASK", producer=PRODUCER)
    }
    if options.description:
        of_job["documentation"] = documentation_job.DocumentationJobFacet(options.description, producer=PRODUCER)
    if options.tags:
        tags = [tags_job.TagsJobFacetFields(name, value, "CONFIG") for name, value in options.tags]
        of_job["tags"] = tags_job.TagsJobFacet(tags, producer=PRODUCER)
    if options.owners:
        owners = [ownership_job.Owner(name, role) for name, role in options.owners]
        of_job["ownership"] = ownership_job.OwnershipJobFacet(owners, producer=PRODUCER)
    of_run: dict[str, Any] = {
        "processing_engine": processing_engine_run.ProcessingEngineRunFacet(
            __version__, "Kafka Connect in Python", producer=PRODUCER
        )
    }
    if error is not None:
        of_run["errorMessage"] = error_message_run.ErrorMessageRunFacet(
            error[:_MOST_WORDS], "Python", producer=PRODUCER
        )
    brokers = options.brokers or spec.worker_config.get("bootstrap.servers", "")
    of_topics = f"kafka://{brokers.split(',')[0].strip()}"
    topics = [(of_topics, topic) for topic in sorted(run.topics)]
    read, written = (topics, run.others) if spec.kind == "sink" else (run.others, topics)
    namespace = options.namespace or spec.worker_config.get("group.id") or "kafka-connect"
    return RunEvent(
        eventTime=datetime.now(UTC).isoformat(),
        producer=PRODUCER,
        eventType=RunState[kind],
        run=Run(run.id, of_run),
        job=Job(namespace, f"{spec.connector}.{spec.task}", of_job),
        inputs=[InputDataset(*each) for each in read],
        outputs=[OutputDataset(*each) for each in written],
    )


def _client(file: str) -> OpenLineageClient:
    from openlineage.client import OpenLineageClient

    # They would log each of the client's tries; what comes of all of them is told once.
    for name in ("openlineage", "urllib3.connectionpool"):
        logging.getLogger(name).setLevel(logging.ERROR)
    if not file:
        return OpenLineageClient()
    import yaml

    content: Mapping[str, Any] = yaml.safe_load(Path(file).read_text(encoding="utf-8")) or {}
    return OpenLineageClient(config=dict(content))
