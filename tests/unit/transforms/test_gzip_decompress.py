"""GzipDecompress."""

import gzip
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect import DataError, Schema
from connect.data import schema as schemas
from connect.testing.conformance import TransformationConformance
from transforms.gzip_decompress import GzipDecompressKey, GzipDecompressValue

from .forms import with_config
from .shaping import changed, refused, shaped

#: Packed at a fixed time: where tests run side by side, each process has to make the same ids of them.
_PACKED = gzip.compress(b"Hello world", mtime=0)


class TestConformance(TransformationConformance):
    transformation = GzipDecompressValue

    def values(self) -> Any:
        items = st.none() | st.binary(max_size=9).map(gzip.compress)
        return st.tuples(st.sampled_from([None, schemas.OPTIONAL_BYTES]), items)


@pytest.mark.parametrize("schema", [None, schemas.OPTIONAL_BYTES])
def test_bytes_are_unpacked(schema: Schema | None) -> None:
    assert shaped(GzipDecompressValue, {}, schema, _PACKED) == (schema, b"Hello world")
    assert shaped(GzipDecompressValue, {}, schema, _PACKED + _PACKED) == (schema, b"Hello world" * 2)
    assert shaped(GzipDecompressValue, {}, schema, _PACKED + b"rest") == (schema, b"Hello world")
    assert shaped(GzipDecompressValue, {}, schema, None) == (schema, None)
    assert changed(GzipDecompressKey, {}, schema, _PACKED).key == b"Hello world"


@given(st.lists(st.binary(max_size=50), min_size=1, max_size=3))
def test_what_was_packed_is_the_same_again(parts: list[bytes]) -> None:
    packed = b"".join(map(gzip.compress, parts))
    assert with_config(GzipDecompressValue, {}).convert(None, packed).value == b"".join(parts)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("schema", "value", "says"),
    [
        (schemas.STRING, "text", "the value is STRING"),
        (None, "text", "the value is str"),
        (None, b"", "its gzip data ends too early"),
        (None, _PACKED[:-3], "its gzip data ends too early"),
        (None, b"Hello world", "is not gzip data"),
        (None, _PACKED[:-8] + b"\0" * 8, "is not gzip data"),
        (None, gzip.compress(bytes(101), mtime=0), "decompresses to more than 100 bytes"),
        (None, gzip.compress(bytes(60), mtime=0) * 2, "decompresses to more than 100 bytes"),
    ],
)
def test_other_values_are_refused(schema: Schema | None, value: Any, says: str) -> None:
    with pytest.raises(DataError, match=says):
        raise refused(GzipDecompressValue, {"max.bytes": "100"}, schema, value)


def test_as_many_bytes_as_are_allowed() -> None:
    packed = gzip.compress(bytes(60)) + gzip.compress(bytes(40))
    assert shaped(GzipDecompressValue, {"max.bytes": "100"}, None, packed) == (None, bytes(100))
