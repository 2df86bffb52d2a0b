"""A sink connector on Spark: where its queries begin, which records they read, and what is committed to the group."""

from __future__ import annotations

import logging
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from connect.data.record import TopicPartition
from connect.delivery.error_outputs import TaskConfigs, make_dead_letter_topic
from connect.errors import ConnectError, RetriableError
from connect.kafka.admin.answers import Committed
from connect.kafka.admin.group_notes import GroupNotes
from connect.kafka.clients.settings import task_client_settings
from connect.kafka.reading.topic_ends import TopicEnds
from connect.settings.subscription import subscription
from spark_sink.error_translation import translate_error
from spark_sink.query.generations import GENERATIONS, Generation, Generations
from spark_sink.query.progress import QueryProgress
from spark_sink.query.settings import QueryOptions
from spark_sink.query.shapes import TooEarly
from spark_sink.query.supervised import Query, SupervisedTask
from spark_sink.reading import ReadPlan, register
from spark_sink.reading.plan import RowShape, as_map, as_offsets
from spark_sink.reading.sample import Sample

log = logging.getLogger("connect.spark")

_REPORT_S: Final = 1.0


class SinkQuery(Query):
    """One query of a sink.

    Attributes:
        topics: that it reads; empty with the connector's pattern.
        only_ranges: whether it reads ranges of offsets instead of records.
        sample: what is known of its records.
    """

    def __init__(self, name: str, topics: Sequence[str], progress: QueryProgress, *, only_ranges: bool = False) -> None:
        super().__init__(name, progress)
        self.topics = tuple(topics)
        self.only_ranges = only_ranges
        self.sample: Sample | None = None


class Former(NamedTuple):
    """The last generation of other queries, and these."""

    generation: Generation
    queries: Sequence[SinkQuery]


class SinkQueryTask(SupervisedTask):
    """The base of the tasks for tables and for any sink."""

    #: Whether the query reads ranges of offsets, and `write` their records.
    only_ranges = False

    def prepare(self) -> None:
        context = self.context
        self.options = QueryOptions.parse(context.connector_config)
        self.topics = subscription(context.connector_config)
        self.location = self.checkpoint_location()
        self.generations = Generations(self.session.spark, self.location, self.ledger())
        self._group_notes = GroupNotes(context.worker_config, context.connector_config)
        self._ends = TopicEnds(context.worker_config, context.connector_config, self.topics)
        self._reported: dict[TopicPartition, int] = {}
        self._report_due = 0.0
        self._problem = ""
        self._make_dead_letter_topic()
        self.check()
        self.queries.append(self.make_query("all", self.topics if isinstance(self.topics, list) else []))
        self._until = self.ends(self._ends)
        self.generation = self._settle()

    # What heirs say.

    @abstractmethod
    def checkpoint_location(self) -> str:
        """The folder of the connector's checkpoints."""

    def ledger(self) -> str:
        """The ledger of its generations."""
        return GENERATIONS

    @abstractmethod
    def write(self, query: SinkQuery, rows: Any) -> Any:
        """A DataStreamWriter for what the query reads, complete except for trigger, checkpoint and name."""

    def check(self) -> None:
        """Raise configuration errors before anything begins."""

    def shape(self, query: SinkQuery) -> RowShape | None:
        """The shape of rows; None for raw records and ranges. Called before each run; may raise `TooEarly`."""
        return None

    def former(self) -> Former | None:
        """What other queries have left that wrote the same: they are finished, and the current ones continue."""
        return None

    def written(self, query: SinkQuery, batch: int, topics: set[str]) -> set[str]:
        """Those topics of a batch whose records the target has completely."""
        return set()

    # Queries.

    def begin(self, query: Query) -> Any:
        assert isinstance(query, SinkQuery)
        try:
            plan = self.plan(query, self.shape(query))
        except TooEarly as early:
            log.debug("%s", early)
            query.done = self._nothing_to_read()
            return None
        return self._start(query, plan, self.generation)

    def _nothing_to_read(self) -> bool:
        """Whether the connector ends where it begins."""
        if not self._until:
            return False
        start = as_offsets(self.generation.start)
        start = {**self._ends.begins([partition for partition in self._until if partition not in start]), **start}
        return all(start[partition] >= end for partition, end in self._until.items())

    def plan(self, query: SinkQuery, shape: RowShape | None) -> ReadPlan:
        """What a query reads."""
        context, options = self.context, self.options
        start = self.generation.start
        if query.topics:
            start = {topic: parts for topic, parts in start.items() if topic in query.topics}
        return ReadPlan(
            connector=context.connector,
            topics=query.topics,
            pattern="" if query.topics else context.connector_config["topics.regex"],
            worker=context.worker_config,
            config=context.connector_config,
            plugin_path=tuple(context.plugin_path),
            start=start,
            end=as_map(self._until),
            rows=shape,
            only_ranges=query.only_ranges and shape is None,
            most_records=options.most_records,
            most_bytes=options.most_bytes,
            most_per_second=options.most_per_second,
            record_bytes=query.sample.record_bytes if query.sample is not None else 0.0,
            parts=options.parts or self._cores(),
            lease_file=str(self.lease_file.path) if self.driver_is_here() else None,
            fail_on_data_loss=options.fail_on_data_loss,
        )

    def is_done(self, query: Query) -> bool:
        return query.progress.lag <= 0

    def app_id(self, query: SinkQuery) -> str:
        """The application id of a query in a target's transactions."""
        return f"connect/{self.context.connector}/{self.generation.name}/{query.name}"

    def _start(self, query: SinkQuery, plan: ReadPlan, generation: Generation) -> Any:
        rows = self.session.spark.readStream.format(register(self.session.spark, plan)).load()
        folder = self.generations.checkpoint(generation, query.name)
        writer = self.write(query, rows).option("checkpointLocation", folder)
        return self.options.triggered(writer).start()

    def make_query(self, name: str, topics: Sequence[str], *, only_ranges: bool | None = None) -> SinkQuery:
        """A query that has not begun; `only_ranges` as the connector's, by default."""
        ranges = self.only_ranges if only_ranges is None else only_ranges
        progress = QueryProgress(name, self.context.metrics, rows_are_ranges=ranges)
        return SinkQuery(name, topics, progress, only_ranges=ranges)

    def _cores(self) -> int:
        found = self.session.spark.conf.get("spark.sql.leafNodeDefaultParallelism", None)
        if found:
            return int(found)
        if self.session.remote:
            return 0
        return int(self.session.spark.sparkContext.defaultParallelism)

    # Where queries begin.

    def _settle(self) -> Generation:
        """The generation to continue: a new one if there is none, or if a user has altered the group's offsets."""
        own = self.generations.current()
        committed = self._group_notes.read()
        marks = {at.metadata for at in committed.values()}
        former = None if own is not None and marks <= {own.mark} else self.former()
        if former is not None and own is not None and former.generation.mark not in marks:
            former = None
        last = own if former is None else former.generation
        if last is None:
            start = {partition: at.offset for partition, at in committed.items()}
            return self._new_generation(None, {**self.begins(self._ends), **start} or self._by_reset())
        altered = {partition: at.offset for partition, at in committed.items() if at.metadata != last.mark}
        if not altered and former is None:
            return last
        why = "offsets were altered" if former is None else "other queries wrote the tables"
        log.info("%s: the query restarts with a checkpoint of its own", why)
        positions = as_offsets(last.start)
        for query in self.queries if former is None else former.queries:
            assert isinstance(query, SinkQuery)
            found = self._finished(query, last)
            # Of topics that it does not read it says where its generation began.
            its = query.topics if former is not None else ()
            positions |= {at: offset for at, offset in found.items() if not its or at.topic in its}
        return self._new_generation(last if own is None or own.number < last.number else own, {**positions, **altered})

    def _new_generation(self, after: Generation | None, start: Mapping[TopicPartition, int]) -> Generation:
        made = self.generations.begin(after, start)
        self._note(start, made)
        return made

    def _note(self, offsets: Mapping[TopicPartition, int], generation: Generation) -> None:
        """Commit offsets to the group, with the mark, but those of deleted topics, of which it takes none.

        Raises:
            ConnectError: it takes none at all now.
        """
        noted = {partition: Committed(offset, generation.mark) for partition, offset in offsets.items()}
        try:
            self._group_notes.write(noted)
        except ConnectError:
            there = set(self._ends.partitions())
            if there.issuperset(noted):
                raise
            self._group_notes.write({partition: at for partition, at in noted.items() if partition in there})

    def begins(self, ends: TopicEnds) -> dict[TopicPartition, int]:
        """Where a connector without offsets begins, if its keys say so; else no partition."""
        return {}

    def ends(self, ends: TopicEnds) -> dict[TopicPartition, int]:
        """Where the connector ends, if its keys say so; else no partition."""
        return {}

    def _by_reset(self) -> dict[TopicPartition, int]:
        settings = task_client_settings("consumer", self.context.worker_config, self.context.connector_config)
        if str(settings.librdkafka.get("auto.offset.reset", "earliest")) in {"latest", "end", "largest"}:
            return self._ends.ends(self._ends.partitions())
        return {}

    def _finished(self, query: SinkQuery, generation: Generation) -> dict[TopicPartition, int]:
        """The end of a query of an older generation, once its unfinished batch is written, or cannot be.

        That may take as long as a batch takes.

        Raises:
            RetriableError: it cannot be written now.
        """
        positions, unfinished = self.generations.positions(generation, query.name)
        if not unfinished:
            return positions
        log.info("finishing the batch that %s had begun", query.name)
        self.generation = generation
        shut = str(Path(self.lease_file.path).with_name("shut"))  # is not there: nothing beyond that batch begins
        running, pause = None, 0.2
        while unfinished:
            self.keep_going()
            if running is None:
                running = self._begin_shut(query, generation, shut)
                if running is None:
                    return self._dropped(query, generation, positions, ConnectError("its records are gone."))
            elif not running.isActive:
                positions, unfinished = self.generations.positions(generation, query.name)
                if not unfinished:  # since it was looked at
                    break
                error = running.exception() or ConnectError("Spark ended the query that finishes the batch.")
                if not self.recover(query, error):
                    return self._dropped(query, generation, positions, translate_error(error))
                running = None
            time.sleep(pause)
            pause = min(1.0, 1.5 * pause)
            positions, unfinished = self.generations.positions(generation, query.name)
        if running is not None:
            running.stop()
        return positions

    def _dropped(
        self, query: SinkQuery, generation: Generation, positions: dict[TopicPartition, int], error: ConnectError
    ) -> dict[TopicPartition, int]:
        """Where to continue without a failing batch: a user who alters offsets does so because of it."""
        if isinstance(error, RetriableError):
            raise error
        end, written = self._begun(query, generation)
        positions = {**positions, **{partition: at for partition, at in end.items() if partition.topic in written}}
        if all(partition.topic in written for partition in end):
            log.info("the batch that was begun before offsets were altered is in the table already")
            return positions
        ranges = ", ".join(
            f"{partition} {positions.get(partition, 0)} to {offset - 1}"
            for partition, offset in sorted(end.items())
            if positions.get(partition, 0) < offset
        )
        log.warning(
            "The batch that was begun before offsets were altered cannot be written, and is dropped (offsets %s): %s "
            "The query goes on at the altered offsets, and in other partitions at the beginning of that batch.",
            ranges,
            error,
        )
        return positions

    def _begun(self, query: SinkQuery, generation: Generation) -> tuple[dict[TopicPartition, int], set[str]]:
        """The end of the last batch that was begun, and those of its topics whose records the target has."""
        batch, end = self.generations.begun(generation, query.name)
        return end, self.written(query, batch, {partition.topic for partition in end})

    def _begin_shut(self, query: SinkQuery, generation: Generation, lease_file: str) -> Any:
        """The query, started for a batch that was begun; None where no record is there that shows its columns."""
        from dataclasses import replace

        try:
            return self._start(query, replace(self.plan(query, self.shape(query)), lease_file=lease_file), generation)
        except TooEarly:
            return None

    # Between batches.

    def look_around(self) -> None:
        now = time.monotonic()
        if now >= self._report_due:
            self._report_due = now + _REPORT_S
            self._report()

    def _report(self) -> None:
        self._report_offsets({at: offset for query in self.queries for at, offset in query.progress.offsets.items()})

    def _report_offsets(self, offsets: Mapping[TopicPartition, int]) -> None:
        changed = {
            partition: offset for partition, offset in offsets.items() if self._reported.get(partition) != offset
        }
        if not changed:
            return
        try:
            self._note(changed, self.generation)
        except ConnectError as error:
            self._problem = str(error)
            return
        self._problem = ""
        self._reported |= changed

    def failing(self) -> str:
        return self._problem

    def last_report(self, interrupted: Sequence[Query]) -> None:
        self._report()
        for query in interrupted:
            assert isinstance(query, SinkQuery)
            self._report_interrupted(query)

    def _report_interrupted(self, query: SinkQuery) -> None:
        """Report the batch of a query that was ended before it told its end: another engine would write it again."""
        try:
            positions, unfinished = self.generations.positions(self.generation, query.name)
            if unfinished:
                end, written = self._begun(query, self.generation)
                positions = {at: offset for at, offset in end.items() if at.topic in written}
        except Exception as error:  # Spark may be gone
            log.debug("What %s wrote at last is not known: %s", query.name, error)
        else:
            self._report_offsets(positions)

    def _make_dead_letter_topic(self) -> None:
        def wait(seconds: float) -> None:
            time.sleep(seconds)
            self.keep_going()

        context = self.context
        make_dead_letter_topic(TaskConfigs(context.connector, 0, context.worker_config, context.connector_config), wait)
