"""Keys of Java's offset store, without a JVM."""

from typing import Any

import pytest

from connect.java.offsets import _partition


class Buffer:
    """A ByteBuffer of Java."""

    def __init__(self, data: bytes) -> None:
        self._data = list(data)

    def duplicate(self) -> "Buffer":
        return Buffer(bytes(self._data))

    def get(self) -> int:
        return self._data.pop(0)

    def remaining(self) -> int:
        return len(self._data)


@pytest.mark.parametrize(("key", "partition"), [(b'["c",{"f":"a"}]', {"f": "a"}), (b'["c",null]', {})])
def test_a_source_may_have_no_partition(key: bytes, partition: dict[str, Any]) -> None:
    assert _partition(Buffer(key)) == partition
