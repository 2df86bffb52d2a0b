"""Filter."""

from connect import Predicate, SinkBatch, SinkRecord, Values
from connect.pipeline.steps import Transform
from transforms.filter import Filter


class Odd(Predicate):
    def test(self, record: SinkRecord) -> bool:
        return record.value % 2 == 1


def test_every_record_is_dropped() -> None:
    batch = SinkBatch("t", Values([1, None]), offsets=[0, 1])
    assert [Filter().apply(record) for record in batch] == [None, None]
    assert len(Filter().apply_batch(batch)) == 0
    assert len(batch) == 2


def test_those_that_a_predicate_spares_stay() -> None:
    batch = SinkBatch("t", Values([1, 2, 3, 4]), offsets=[0, 1, 2, 3])
    kept = Transform(Filter(), Odd()).run(batch)
    assert [(record.offset, record.value) for record in kept] == [(1, 2), (3, 4)]
    assert [record.value for record in Transform(Filter(), Odd(), negate=True).run(batch)] == [1, 3]
