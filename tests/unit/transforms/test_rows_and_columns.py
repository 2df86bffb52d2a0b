"""Whatever form a batch has, and however it is cut, a transformation makes of it what it makes of its records."""

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connect.api import Predicate
from tests.conformance.transforms.compare import batch_disagreements, forms
from tests.conformance.transforms.generate import MAKERS, case
from tests.conformance.transforms.java import Raised
from tests.conformance.transforms.ours import configured, described, run, run_batch

limits = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
chances = st.randoms(use_true_random=False)


@pytest.mark.parametrize("name", MAKERS)
def test_rows_lists_and_arrow_columns_give_the_same(name: str) -> None:
    @limits
    @given(chances)
    def check(chance: random.Random) -> None:
        assert batch_disagreements([case(chance, name)]) == []

    check()


@pytest.mark.parametrize("name", MAKERS)
def test_a_pure_one_gives_the_same_again_and_in_halves(name: str) -> None:
    @limits
    @given(chances)
    def check(chance: random.Random) -> None:
        drawn = case(chance, name)
        made = configured(drawn)
        if isinstance(made, Raised) or not (isinstance(made, Predicate) or made.pure):
            return
        for batch in forms(drawn.records).values():
            whole, again = run_batch(made, batch), run_batch(made, batch)
            assert again == whole
            middle = chance.randint(0, len(batch))
            assert _joined(
                [run_batch(made, batch.slice(0, middle)), run_batch(made, batch.slice(middle, len(batch)))]
            ) == ("an error" if isinstance(whole, Raised) else whole)

    check()


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_given_stays_as_it_was(name: str) -> None:
    @limits
    @given(chances)
    def check(chance: random.Random) -> None:
        drawn = case(chance, name)
        before = [described(record) for record in drawn.records]
        run(drawn)
        assert [described(record) for record in drawn.records] == before
        made = configured(drawn)
        for batch in forms(drawn.records).values():
            if not isinstance(made, Raised):
                run_batch(made, batch)
                assert [described(record) for record in batch._make_records()] == before

    check()


def _joined(parts: list[Any]) -> Any:
    if any(isinstance(part, Raised) for part in parts):
        return "an error"
    return [result for part in parts for result in part]
