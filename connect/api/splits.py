"""Sources whose reading can be split: one instance plans what there is to read, others read it, on other machines.

With `engine=spark` a plan is made in the worker's process, and executors read its splits at the same time, transform
and convert their records, and write them. With `engine=worker` the same task is polled. Offsets are the same on both.

Source: the split enumerators and readers of Flink (FLIP-27), the input partitions of Spark's data sources.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from connect.api.source import SourceTask
from connect.data.batch import SourceBatch

#: What `SplitSourceTask.read` has to know of a part of the work. See `ReadPlan`.
Split = Mapping[str, Any]


class ReadPlan(NamedTuple):
    """What there is to read now.

    Attributes:
        splits: are read at the same time, in any order, each by an instance of its own; the records of one stay in
            order. Each is a mapping of JSON values without secrets, and says where it ends, so that reading it again
            gives the same records as far as the system allows. With exactly-once a plan is stored in Kafka before it
            is carried out: all of it takes less than 500 KB as JSON.
        offsets: source partitions with the offsets that are stored when all splits are written; None forgets one.
    """

    splits: Sequence[Split]
    offsets: Sequence[tuple[dict[str, Any], dict[str, Any] | None]]


class SplitSourceTask(SourceTask):
    """A source task that also runs on Spark. Its connector says so: `engines = (WORKER, "spark")`.

    There it has two kinds of instances, each called from one thread:

        start -> (plan | commit)* -> stop      one, in the worker's process; it holds the task's lease
        read                                   one for each split, in an executor; it is not started

    The connector's `task_configs` is asked for one task, which gets all the work.
    """

    @abstractmethod
    def plan(self, most: int) -> ReadPlan | None:
        """What is to be read now, in at most so many splits; None when there is nothing yet.

        Called in place of `poll`: it may wait about a second, checking `context.stopping()`, and after a
        `RetriableError` it is called again after a pause; any other error fails the task. A plan that has been
        returned counts as read: the next one begins behind it. It is carried out, and its offsets are durable, before
        `plan` is called again. `commit` is called then, as with `poll` (P2). Where it cannot be carried out the task
        ends, and its successor begins at the stored offsets.

        Args:
            most: at least 1. Fewer are right where there is little to read: a split costs about a tenth of a second.
        """

    @abstractmethod
    def read(self, config: Mapping[str, str], split: Split) -> Iterator[SourceBatch]:
        """Read one split, in batches, to its end.

        Of the context there are `connector`, `configs`, `metrics`, `exit_stack`, which is closed at the end, and
        `stopping`; `offset` raises. Offsets of the batches do not count. After an error the split is read again, from
        its beginning, by another instance: what has been returned may be written already, unless the worker delivers
        exactly once. `RetriableError` says that this may help.

        Args:
            config: as `start` receives it.
            split: of a plan that another instance has made.
        """
