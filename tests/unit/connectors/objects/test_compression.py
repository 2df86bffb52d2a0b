"""Files that are compressed in pieces are one stream to their readers."""

import gzip
import io
from collections.abc import Callable

import pytest
import zstandard

from connectors.objects.formats import compression

UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "none": bytes,
    "gzip": gzip.decompress,
    "zstd": lambda data: zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True).read(),
}


@pytest.mark.parametrize("kind", list(UNPACK))
@pytest.mark.parametrize("level", [-1, 1, 9])
def test_pauses_hold_nothing_and_lose_nothing(kind: str, level: int) -> None:
    packer = compression.compressor(kind, level)
    pieces = [b"", b"a" * 10, b"b" * 3_000_000, b"", b"c"]
    found = b""
    for piece in pieces:
        found += packer.compress(piece)
        found += packer.pause()
        assert packer.held == 0
    found += packer.compress(b"last") + packer.flush()
    assert UNPACK[kind](found) == b"".join(pieces) + b"last"


@pytest.mark.parametrize("kind", list(UNPACK))
def test_nothing_is_an_empty_file_that_can_be_read(kind: str) -> None:
    assert UNPACK[kind](compression.compressor(kind, -1).flush()) == b""


def test_the_same_content_is_the_same_file() -> None:
    one, other = (compression.compressor("gzip", 6) for _ in range(2))
    assert (
        one.compress(b"x" * 1000) + one.flush()
        == other.compress(b"x" * 400) + other.compress(b"x" * 600) + other.flush()
    )
