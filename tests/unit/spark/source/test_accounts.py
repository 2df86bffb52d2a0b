"""Accounts of writers, as they lie in the offsets topic."""

import pytest

from connect import ConnectError
from spark_sink.source.accounts import Account, Accounts, Cut, Run
from spark_sink.source.clients import SourceClients

RUN = Run("orders", "connect-cluster-orders", "connect-offsets", "000001-ab/query", "r1")


def accounts(**known: Account) -> Accounts:
    made = Accounts(RUN, SourceClients("orders", {}, {}))
    made._known = {int(name[1:]): account for name, account in known.items()}
    return made


def test_keys_are_those_of_source_partitions() -> None:
    assert RUN.key(3) == b'["orders",{"writer":3}]'
    assert RUN.own_key == b'["orders",{"writer":"run"}]'
    assert RUN.writer_id(0) == "connect-cluster-orders-0"
    assert RUN.own_id == "connect-cluster-orders-run"


def test_an_account_comes_back_as_it_was_written() -> None:
    account = Account(17, "000001-ab/query", Cut(8, ("id", 'a,"b')))
    assert Account.of(account.to_json()) == account
    assert account.to_json().startswith(b'{"batch":17,"stream":"000001-ab/query","writers":8,')


@pytest.mark.parametrize("value", [None, b"", b"null", b"[]", b'{"batch":1}', b'{"batch":"x","stream":"s"}', b"\xff"])
def test_what_is_no_account_is_none(value: bytes | None) -> None:
    assert Account.of(value) is None


def test_a_batch_that_was_begun_is_cut_as_it_was() -> None:
    before, wish = Cut(4, ("id",)), Cut(8, ("id", "day"))
    known = accounts(w0=Account(5, RUN.stream, before), w1=Account(4, RUN.stream, before))
    assert known.cut_of(5, wish) == before
    assert known.done(5) == {0}
    assert known.cut_of(6, wish) == wish
    assert known.done(6) == frozenset()


def test_accounts_of_another_checkpoint_say_nothing() -> None:
    known = accounts(w0=Account(5, "000002-cd/query", Cut(4)))
    assert known.cut_of(5, Cut(2)) == Cut(2)
    assert known.done(5) == frozenset()
    assert known.cut_of(0, Cut(2)) == Cut(2)


def test_a_checkpoint_that_went_back_is_no_place_to_go_on_from() -> None:
    known = accounts(w0=Account(5, RUN.stream, Cut(4)))
    with pytest.raises(ConnectError, match="the checkpoint was deleted"):
        known.cut_of(4, Cut(4))


def test_a_run_knows_its_own_name() -> None:
    assert RUN.is_named_in(b'{"run":"r1","writers":8}')
    for other in (None, b'{"run":"r2"}', b"[]", b"x", b"null"):
        assert not RUN.is_named_in(other)
