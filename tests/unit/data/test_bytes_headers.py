"""Headers that are still bytes are what `Headers` of bytes are, and are written as they came."""

from connect.converters import ByteArrayConverter, StringConverter
from connect.data import BytesHeaders, Header, Headers, SourceBatch, SourceRecord
from connect.data.schema import OPTIONAL_BYTES
from connect.pipeline.steps import EncodeHeaders

PAIRS = [("a", b"\x00\xff"), ("n", None), ("a", b"2")]


def test_they_are_headers_of_bytes() -> None:
    held = BytesHeaders(PAIRS)
    made = Headers([Header(name, value, OPTIONAL_BYTES) for name, value in PAIRS])
    assert held == made
    assert made == held
    assert hash(held) == hash(made)
    assert (len(held), list(held), held[1]) == (3, list(made), made[1])
    assert held.last("a") == made.last("a")
    assert held.all("a") == made.all("a")
    assert held.add("b", 1) == made.add("b", 1)
    assert held.remove("a") == made.remove("a")


def test_they_are_written_as_they_came() -> None:
    records = [
        SourceRecord("t", b"v", headers=headers) for headers in (BytesHeaders(PAIRS), Headers(), BytesHeaders([]))
    ]
    records.append(SourceRecord("t", b"v", headers=Headers([Header("x", b"y", OPTIONAL_BYTES)])))
    batch = EncodeHeaders(ByteArrayConverter()).run(SourceBatch.of(records))
    assert batch.headers.to_list() == [PAIRS, None, None, [("x", b"y")]]
    by_text = StringConverter()
    by_text.configure({}, is_key=False)
    (written, *_) = EncodeHeaders(by_text).run(SourceBatch.of(records[:1])).headers
    assert [name for name, _ in written] == ["a", "n", "a"]  # type: ignore[misc]
    assert written != PAIRS
