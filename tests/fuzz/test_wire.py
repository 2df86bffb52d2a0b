"""What members of a group say to each other: any bytes are read, or refused with a WireError, in linear time."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from connect.group.wire import (
    VERSIONS,
    Metadata,
    WireError,
    decode_assignment,
    decode_metadata,
    encode_assignment,
    encode_metadata,
)
from tests.fuzz.damage import NUMBERS, damaged
from tests.fuzz.running import Fuzz
from tests.unit.group.test_wire import assignments, loads, names, offsets

pytestmark = pytest.mark.quick

PROTOCOLS = st.sampled_from(sorted(VERSIONS))
PIECES = [*NUMBERS, b"pyLOAD\0\1", b"\0\1a", b"\xff\xfe", bytes.fromhex("7fffffff"), bytes.fromhex("ffffffff")]
MEMBERS = st.builds(Metadata, names, offsets, st.none() | assignments, loads)
BYTES = st.one_of(
    st.binary(max_size=200),
    damaged(st.builds(encode_assignment, assignments, PROTOCOLS), PIECES),
    damaged(st.builds(encode_metadata, MEMBERS, PROTOCOLS), PIECES),
)


def test_what_members_send_is_read_or_refused(fuzz: Fuzz) -> None:
    @given(BYTES)
    @example(bytes.fromhex("0001 0000 0000 0000 0000000000000000 7fffffff"))  # two thousand million connectors
    def holds(data: bytes) -> None:
        for decode, encode in ((decode_assignment, encode_assignment), (decode_metadata, encode_metadata)):
            try:
                read = decode(data)
            except WireError:
                fuzz.met["refused"] += 1
                continue
            fuzz.met["read"] += 1
            assert decode(encode(read, "sessioned")) == read

    fuzz.check(holds)


def test_what_members_send_is_read_in_linear_time(fuzz: Fuzz) -> None:
    heads = [bytes.fromhex(f"000{version} 0000 0000 0000 0000000000000000 7fffffff") for version in (0, 1, 2)]
    heads += [bytes.fromhex("0002 0000 0000000000000000 ffffffff") + b"pyLOAD\0\1\x7f\xff\xff\xff"]
    pieces = [b"\0", b"\0\1a", b"\0\1a\0\0\0\1\0\0\0\1", b"\0\1a\xff\xff\xff\xff", *PIECES]

    def read(data: bytes) -> None:
        decode_assignment(data) if len(data) % 2 else decode_metadata(data)

    fuzz.growth(read, WireError, [(head, tail) for head in heads for tail in (b"", b"\0")], pieces)
