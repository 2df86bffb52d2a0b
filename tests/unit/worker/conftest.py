"""What tests of a worker share."""

from collections.abc import Iterator

import pytest

from .host_run import Run


@pytest.fixture
def run() -> Iterator[Run]:
    made = Run()
    yield made
    made.close()
