"""Each mistake of a list is seen within a thousand seeds: the simulation looks where it says it does."""

import pytest

from tests.simulation.many import Runs, outcomes
from tests.simulation.mutations import MUTATIONS


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mistake_is_seen(name: str) -> None:
    assert any(outcome.failure for outcome in outcomes(Runs(range(1, 1001), mutation=name, lines=1)))
