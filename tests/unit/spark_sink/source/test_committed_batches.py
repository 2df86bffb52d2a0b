"""Committed batches, as they lie in the offsets topic."""

import pytest

from connect import ConnectError
from spark_sink.source.clients import SourceClients
from spark_sink.source.committed_batches import CommittedBatch, CommittedBatches, Partitioning, Run

RUN = Run("orders", "connect-cluster-orders", "connect-offsets", "000001-ab/query", "r1")


def committed_batches(**known: CommittedBatch) -> CommittedBatches:
    made = CommittedBatches(RUN, SourceClients("orders", {}, {}))
    made._known = {int(name[1:]): committed for name, committed in known.items()}
    return made


def test_keys_are_those_of_source_partitions() -> None:
    assert RUN.key(3) == b'["orders",{"writer":3}]'
    assert RUN.own_key == b'["orders",{"writer":"run"}]'
    assert RUN.writer_id(0) == "connect-cluster-orders-0"
    assert RUN.own_id == "connect-cluster-orders-run"


def test_an_account_comes_back_as_it_was_written() -> None:
    committed = CommittedBatch(17, "000001-ab/query", Partitioning(8, ("id", 'a,"b')))
    assert CommittedBatch.of(committed.to_json()) == committed
    assert committed.to_json().startswith(b'{"batch":17,"stream":"000001-ab/query","writers":8,')


@pytest.mark.parametrize("value", [None, b"", b"null", b"[]", b'{"batch":1}', b'{"batch":"x","stream":"s"}', b"\xff"])
def test_what_is_no_account_is_none(value: bytes | None) -> None:
    assert CommittedBatch.of(value) is None


def test_a_batch_that_was_begun_is_cut_as_it_was() -> None:
    before, wanted = Partitioning(4, ("id",)), Partitioning(8, ("id", "day"))
    known = committed_batches(w0=CommittedBatch(5, RUN.stream, before), w1=CommittedBatch(4, RUN.stream, before))
    assert known.partitioning_of(5, wanted) == before
    assert known.done(5) == {0}
    assert known.partitioning_of(6, wanted) == wanted
    assert known.done(6) == frozenset()


def test_accounts_of_another_checkpoint_say_nothing() -> None:
    known = committed_batches(w0=CommittedBatch(5, "000002-cd/query", Partitioning(4)))
    assert known.partitioning_of(5, Partitioning(2)) == Partitioning(2)
    assert known.done(5) == frozenset()
    assert known.partitioning_of(0, Partitioning(2)) == Partitioning(2)


def test_a_checkpoint_that_went_back_is_no_place_to_go_on_from() -> None:
    known = committed_batches(w0=CommittedBatch(5, RUN.stream, Partitioning(4)))
    with pytest.raises(ConnectError, match="the checkpoint was deleted"):
        known.partitioning_of(4, Partitioning(4))


def test_a_run_knows_its_own_name() -> None:
    assert RUN.is_named_in(b'{"run":"r1","writers":8}')
    for other in (None, b'{"run":"r2"}', b"[]", b"x", b"null"):
        assert not RUN.is_named_in(other)
