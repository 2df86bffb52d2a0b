"""Lines in any encoding, whatever the pieces they come in: against a reader that looks at one unit after another."""

import codecs
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect import ConnectError
from connectors.file.lines import Splitter, encoding

# Name, and how its bytes are made: codec, mark at the beginning, bytes of a unit.
ENCODINGS = {
    "UTF-8": ("utf-8", b"", 1),
    "utf-8-sig": ("utf-8", codecs.BOM_UTF8, 1),
    "ISO-8859-1": ("latin-1", b"", 1),
    "windows-1252": ("cp1252", b"", 1),
    "Shift_JIS": ("shift_jis", b"", 1),
    "GB18030": ("gb18030", b"", 1),
    "EUC-JP": ("euc_jp", b"", 1),
    "Big5": ("big5", b"", 1),
    "ISO-2022-JP": ("iso2022_jp", b"", 1),
    "UTF-7": ("utf-7", b"", 1),
    "cp037": ("cp037", b"", 1),
    "UTF-16LE": ("utf-16-le", b"", 2),
    "UTF-16BE": ("utf-16-be", b"", 2),
    "UTF-16": ("utf-16-be", b"", 2),
    "utf-16": ("utf-16-le", codecs.BOM_UTF16_LE, 2),
    "Utf-16": ("utf-16-be", codecs.BOM_UTF16_BE, 2),
    "UTF-32": ("utf-32-be", b"", 4),
    "utf-32": ("utf-32-le", codecs.BOM_UTF32_LE, 4),
}


def read_by_unit(raw: bytes, codec: str, mark: bytes, unit: int) -> tuple[list[str], list[int]]:
    """Texts of the lines that are surely over, and the position after each."""
    carriage, feed = ("\r".encode(codec), "\n".encode(codec))
    texts, ends = [], []
    at = start = len(mark)
    while at + unit <= len(raw):
        here, following = raw[at : at + unit], raw[at + unit : at + 2 * unit]
        if here == feed or (here == carriage and len(following) == unit):
            texts.append(raw[start:at].decode(codec, "replace").encode("utf-8", "replace").decode())
            at += 2 * unit if here == carriage and following == feed else unit
            ends.append(at)
            start = at
        else:
            at += unit
    return texts, ends


def pieces(raw: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(raw), *(cut % (len(raw) + 1) for cut in cuts)})
    return [raw[start:end] for start, end in pairwise(places)]


def read(splitter: Splitter, parts: list[bytes]) -> tuple[list[str], list[int]]:
    texts, ends = [], []
    for part in parts:
        if lines := splitter.feed(part):
            assert lines.end == lines.ends()[-1]
            texts += [text.decode("utf-8", "replace") for text in lines.texts]
            ends += lines.ends()
    return texts, ends


@pytest.mark.parametrize("name", ENCODINGS)
@given(data=st.data())
def test_lines_and_positions_are_those_of_a_slow_reader(name: str, data: st.DataObject) -> None:
    codec, mark, unit = ENCODINGS[name]
    text = st.text(st.one_of(st.sampled_from("\r\nab\x85\u2028é漢\ufeff𝄞"), st.characters()), max_size=12)
    some = st.one_of(text.map(lambda t: t.encode(codec, "replace")), st.binary(max_size=6))
    raw = mark + b"".join(data.draw(st.lists(some, max_size=8)))
    if not mark and name.lower() in {"utf-16", "utf-32"} and encoding(name).of_file(raw) != encoding(codec):
        return  # chance made a mark
    if codecs.lookup(name).name.startswith(("utf-16-", "utf-32-")) and raw.startswith(encoding(name).mark):
        return
    texts, ends = read_by_unit(raw, codec, mark, unit)
    cuts = data.draw(st.lists(st.integers(0, 100), max_size=6))

    assert read(Splitter(encoding(name), "f", 1000), pieces(raw, cuts)) == (texts, ends)

    for row, start in enumerate(ends):
        resumed = Splitter(encoding(name), "f", 1000, start, raw[:start])
        assert read(resumed, pieces(raw[start:], cuts)) == (texts[row + 1 :], ends[row + 1 :])


@pytest.mark.parametrize("name", ["utf-8-sig", "UTF-16"])
def test_a_mark_is_one_only_at_the_beginning(name: str) -> None:
    raw = "\ufeffone\n\ufefftwo\n".encode("utf-8" if name == "utf-8-sig" else "utf-16-le")
    whole = Splitter(encoding(name), "f", 100)
    assert read(whole, [raw])[0] == ["one", "\ufefftwo"]
    start = 10 if name == "UTF-16" else 7
    assert read(Splitter(encoding(name), "f", 100, start, raw[:start]), [raw[start:]])[0] == ["\ufefftwo"]


def test_what_follows_the_last_line_end_is_a_line_once_nothing_more_can_come() -> None:
    splitter = Splitter(encoding("UTF-8"), "f", 100)
    assert splitter.feed(b"a\nb") is not None
    rest = splitter.rest()
    assert rest is not None
    assert (rest.texts, rest.start, rest.end) == ([b"b"], 2, 3)
    assert splitter.rest() is None


def test_a_line_too_long_is_named_with_its_place_before_it_fills_the_memory() -> None:
    splitter = Splitter(encoding("UTF-8"), "in.txt", 10)
    splitter.feed(b"short\n")
    splitter.feed(b"12345")
    with pytest.raises(ConnectError, match=r"in\.txt: the line at byte 6 is longer than max\.line\.bytes=10"):
        splitter.feed(b"678901")


def test_a_line_too_long_among_others_is_found_too() -> None:
    with pytest.raises(ConnectError, match="the line at byte 3 is longer"):
        Splitter(encoding("UTF-8"), "f", 10).feed(b"ab\n0123456789\nab\n")
    assert Splitter(encoding("UTF-8"), "f", 10).feed(b"ab\n012345678\nab\n") is not None


@pytest.mark.parametrize(
    "name", ["rot13", "base64", "klingon", "unicode_escape", "punycode", "iso2022_kr", "undefined"]
)
def test_what_is_no_encoding_of_lines_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        encoding(name)
