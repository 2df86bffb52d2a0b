"""The readers of a source connector: what a plan has for `spark.read`, plan after plan for `spark.readStream`."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow

from connect import settings
from connect.api.splits import ReadPlan, Split, SplitSourceTask
from connect.errors import ConfigError, ConnectError, RetriableError
from connect.plugins import PluginKind
from connect.plugins.lifetime import Lifetime
from connect.plugins.loading import load_class
from connect.storage.offsets import MemoryOffsetStore
from connect.telemetry.metrics import Registry
from spark_sink.connector_source.reading import ReaderContext
from spark_sink.frames.connectors import CONNECTOR, SPARKS, configured
from spark_sink.frames.options import with_small_aliases
from spark_sink.frames.source_rows import SourceFrame
from spark_sink.reading.plan import RowShape

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

log = logging.getLogger("connect.spark")

_PARTS: Final = 16
#: How long a system may be unavailable before reading fails.
_PATIENCE_S: Final = 120.0
_RETRY_S: Final = 1.0
_NAME: Final = "spark"


class SourceOptions(settings.Options):
    """How a source connector is read. All its own keys are options as well."""

    parts = settings.Int(
        "read.parts",
        default=_PARTS,
        validator=settings.at_least(1),
        doc="Of a source connector: into how many splits at most a plan is cut for the executors.",
    )


def source_frame(given: Mapping[str, str]) -> SourceFrame:
    """What is read by these options. Raises ConfigError, ConnectError."""
    own = {setting.name for setting in SourceOptions.definition()}
    options = SourceOptions.parse({key: value for key, value in given.items() if key in own})
    named = {k: v for k, v in with_small_aliases(given).items() if k not in own and k not in SPARKS}
    for key in named:
        if ".converter" in key or key.startswith(("errors.deadletterqueue.", "topic.creation.")):
            raise ConfigError(key, "is for records that go to Kafka. Leave it out: rows are not bytes.")
    config = {"name": _NAME, "tasks.max": "1", **named}
    made = configured(config, PluginKind.SOURCE)
    found = load_class(made.task, made.folder)
    if not issubclass(found, SplitSourceTask):
        raise ConfigError(
            CONNECTOR,
            f"cannot be read by Spark itself: {found.__qualname__} does not divide its work (SplitSourceTask). Run it "
            "in a worker, and read the topic that it writes.",
        )
    return SourceFrame(made.task, made.folder, {**config, **made.config}, options.parts)


class Planner:
    """The planning instance of a source connector's task, from given offsets on. Close it.

    Args:
        frame: see there.
        offsets: pairs of source partition and offset.
    """

    def __init__(self, frame: SourceFrame, offsets: list[Any]) -> None:
        self._most = frame.most
        self._stored = MemoryOffsetStore()
        self._stored.set(_NAME, [(dict(partition), offset) for partition, offset in offsets])
        self._task: SplitSourceTask = load_class(frame.task, frame.folder)()
        self._task.context = _PlannerContext(frame.config, self._stored)
        self._life = Lifetime(self._task)
        self._life.start(frame.config)

    def next(self) -> ReadPlan | None:
        """The next plan; None when there is nothing now.

        Raises:
            ConnectError: it cannot be made; a system that is unavailable is waited for, for two minutes.
        """
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                plan = self._task.plan(self._most)
            except RetriableError as error:
                if time.monotonic() > deadline:
                    raise
                log.warning("%s Trying again.", error)
                time.sleep(_RETRY_S)
                continue
            if plan is not None:
                self._stored.set(_NAME, plan.offsets)
            return plan

    def offsets(self) -> list[Any]:
        """All offsets, behind the plans so far."""
        return [[dict(partition), dict(offset)] for partition, offset in self._stored.all(_NAME)]

    def commit(self) -> None:
        """What was planned is written."""
        self._task.commit()

    def close(self) -> None:
        """Stop the instance."""
        self._life.end()


class _PlannerContext(ReaderContext):
    """A reader's, with offsets."""

    def __init__(self, config: Mapping[str, str], stored: MemoryOffsetStore) -> None:
        super().__init__(_NAME, 0, config, Registry().labelled())
        self._stored = stored

    def offsets(self, partitions: Any) -> list[Mapping[str, Any] | None]:
        return self._stored.get(_NAME, partitions)


class SplitPartition(InputPartition):
    """One split, for one Spark task."""

    def __init__(self, number: int, split: Split) -> None:
        self.number = number
        self.split = dict(split)


def sampled(frame: SourceFrame) -> RowShape:
    """The shape of the first records. Raises ConfigError where there are none."""
    planner = Planner(frame, [])
    try:
        plan = planner.next()
    finally:
        planner.close()
    return frame.shape(list(plan.splits) if plan is not None else [])


class SourceReader(DataSourceReader):
    """Reads once what there is at the beginning. Travels to the executors."""

    def __init__(self, frame: SourceFrame, shape: RowShape, schema: StructType) -> None:
        self._frame = frame
        self._shape = shape
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        """On the driver: the splits of all plans that there are now."""
        planner = Planner(self._frame, [])
        splits: list[Split] = []
        try:
            while (plan := planner.next()) is not None:
                splits += plan.splits
        finally:
            planner.close()
        return [SplitPartition(number, split) for number, split in enumerate(splits)] or [SplitPartition(-1, {})]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """In an executor: the rows of a split."""
        assert isinstance(partition, SplitPartition)
        if partition.number < 0:
            return iter(())
        return self._frame.rows(partition.split, partition.number, self._shape, self._schema)


class SourceStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads plan after plan.

    An offset of the query is a plan and what is behind it: so a batch that comes again after a crash has the same
    splits, and a query that is started again makes its next plan from there.

        {"plan": 7, "splits": [{...}], "offsets": [[{"table": "orders"}, {"incrementing": 1200}]]}
    """

    def __init__(self, frame: SourceFrame, shape: RowShape, schema: StructType) -> None:
        self._frame = frame
        self._shape = shape
        self._schema = schema
        self._planner: Planner | None = None
        self._planned: dict[str, Any] | None = None  # the last offset that was given
        self._plans_open = False  # whether its plan was given by the planner, which has not heard that it is written

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_planner": None}

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's names, here and below
        return {"plan": 0, "splits": [], "offsets": []}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadAllAvailable()  # a plan is bounded by its connector

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Nothing: the query ends when there is no further plan."""

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        if self._planner is None or self._planned != start:
            self.stop()
            self._planner = Planner(self._frame, start["offsets"])
            self._planned = start
        elif self._plans_open:
            # Spark asks for the next batch when the last one is written, and says `commit` of it only after that.
            self._planner.commit()
        self._plans_open = False
        plan = self._planner.next()
        if plan is None:
            return start
        self._plans_open = True
        told = {"plan": start["plan"] + 1, "splits": list(plan.splits), "offsets": self._planner.offsets()}
        self._planned = json.loads(json.dumps(told))
        return self._planned

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        if start["plan"] == end["plan"]:
            return []
        return [SplitPartition(number, split) for number, split in enumerate(end["splits"])]

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing: see `latestOffset`."""

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """In an executor: the rows of a split."""
        assert isinstance(partition, SplitPartition)
        return self._frame.rows(partition.split, partition.number, self._shape, self._schema)

    def stop(self) -> None:
        planner, self._planner, self._plans_open = self._planner, None, False
        if planner is not None:
            try:
                planner.close()
            except ConnectError as error:
                log.warning("While a planner was stopped: %s", error)
