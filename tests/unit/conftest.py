"""What unit tests of several rooms share."""

import pytest


class Clock:
    """A clock that stands until a test moves it."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()
