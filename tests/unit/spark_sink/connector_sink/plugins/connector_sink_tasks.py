"""Sink tasks that note what is done with them, in `calls` of this module."""

from connect import ConnectError, DataError, RetriableError, SinkTask, TopicPartition, Transformation

calls = []
made = []


class Noting(SinkTask):
    """Takes everything; all is durable at once."""

    def start(self, config):
        calls.append(("start", dict(config)))
        made.append(self)
        self.taken = []

    def open(self, partitions):
        calls.append(("open", list(partitions)))

    def put(self, batch):
        values = batch.values.to_list()
        calls.append(("put", values))
        self.taken += values

    def pre_commit(self, offsets):
        calls.append(("pre_commit", dict(offsets)))
        return offsets

    def close(self, partitions):
        calls.append(("close", list(partitions)))

    def stop(self):
        calls.append(("stop",))


class Refusing(Noting):
    """Refuses the first two puts, and the first pre_commit."""

    def start(self, config):
        super().start(config)
        self.puts = self.asked = 0

    def put(self, batch):
        self.puts += 1
        if self.puts < 3:
            self.context.timeout(1)
            raise RetriableError("The target is busy.")
        super().put(batch)

    def pre_commit(self, offsets):
        self.asked += 1
        if self.asked < 2:
            self.context.timeout(1)
            raise RetriableError("The target is busy.")
        return super().pre_commit(offsets)


class Failing(Noting):
    def put(self, batch):
        raise ValueError("no room")


class NotStarting(Noting):
    def start(self, config):
        self.context.exit_stack.callback(calls.append, ("closed",))
        raise ConnectError("No target.")


class Knowing(Noting):
    """The target has the records before offset 12 of partition 0 already."""

    def open(self, partitions):
        super().open(partitions)
        return {TopicPartition("t", 0): 12}


class Slow(Noting):
    """What it was given is durable after the third time that it is asked; it needs puts without records for that."""

    def start(self, config):
        super().start(config)
        self.empty = 0

    def put(self, batch):
        super().put(batch)
        self.empty += not len(batch)

    def pre_commit(self, offsets):
        super().pre_commit(offsets)
        return offsets if self.empty >= 2 else {place: offset - 1 for place, offset in offsets.items()}


class Keeping(Noting):
    def pre_commit(self, offsets):
        return {}


class Creeping(Noting):
    """One more record is durable each time that it is asked."""

    def start(self, config):
        super().start(config)
        self.durable = 0

    def pre_commit(self, offsets):
        super().pre_commit(offsets)
        self.durable += 1
        return {place: min(offset, self.durable) for place, offset in offsets.items()}


class Accumulating(Noting):
    """Writes when it has a hundred records, unless no more will come."""

    def pre_commit(self, offsets):
        if len(self.taken) < 100 and not self.context.one_batch:
            return {}
        calls.append(("written", self.taken))
        return offsets


class Picky(Noting):
    """Does not take "bad"."""

    idempotent = True

    def put(self, batch):
        if b"bad" in batch.values.to_list():
            raise DataError("It is bad.")
        super().put(batch)


class Reporting(Noting):
    """Reports "bad", and asks for a commit after each put."""

    def put(self, batch):
        for record in batch:
            if record.value == b"bad":
                self.context.errant_records.report(record, DataError("It is bad."))
        super().put(batch)
        self.context.request_commit()


class Rewinding(Noting):
    def put(self, batch):
        self.context.rewind({TopicPartition("t", 0): 0})


class Pausing(Noting):
    """Pauses the partition with its first put, and resumes it with the second put without records."""

    def start(self, config):
        super().start(config)
        self.empty = 0

    def put(self, batch):
        super().put(batch)
        self.empty += not len(batch)
        self.context.pause(TopicPartition("t", 0))
        if self.empty >= 2:
            self.context.resume(TopicPartition("t", 0))


class Asking(Noting):
    """Notes what its context says."""

    def open(self, partitions):
        context = self.context
        calls.append((context.connector, context.task_id, dict(context.configs), context.assignment))
        context.metrics.count("things_total")
        calls.append(dict(context.committed(*partitions, TopicPartition("other", 0))))


class Once(Transformation):
    """Drops values that it has seen before."""

    def configure(self, config):
        self.seen = set()

    def apply(self, record):
        if record.value in self.seen:
            return None
        self.seen.add(record.value)
        return record


class NoTask:
    pass
