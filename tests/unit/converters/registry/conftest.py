from collections.abc import Iterator

import pytest

from .memory_registry import MemoryRegistry


@pytest.fixture
def registry() -> Iterator[MemoryRegistry]:
    with MemoryRegistry() as running:
        yield running
