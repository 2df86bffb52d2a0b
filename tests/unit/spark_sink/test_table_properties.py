"""Which properties a table that exists lacks."""

import pytest

from spark_sink.table_properties import Protocol, at_fault, lacking, told

PROTOCOL = Protocol(3, 7, frozenset({"deletionVectors"}))


@pytest.mark.parametrize(
    ("wanted", "there", "lacks"),
    [
        ({"delta.appendOnly": "true"}, {}, True),
        ({"delta.appendOnly": "true"}, {"delta.appendOnly": "false"}, True),
        ({"delta.APPENDonly": "TRUE"}, {"delta.appendOnly": "true"}, False),
        ({"owner": "shop"}, {"Owner": "shop"}, True),
        ({"owner": "Shop"}, {"owner": "shop"}, True),
        ({"owner": "shop"}, {"owner": "shop", "more": "x"}, False),
        ({"delta.minReaderVersion": "2"}, {}, False),
        ({"delta.minWriterVersion": "8"}, {}, True),
        ({"delta.minWriterVersion": "new"}, {}, True),
        ({"delta.feature.deletionVectors": "supported"}, {}, False),
        ({"delta.feature.typeWidening": "supported"}, {}, True),
    ],
)
def test_only_what_differs_is_lacking(wanted: dict[str, str], there: dict[str, str], lacks: bool) -> None:
    assert lacking(wanted, there, PROTOCOL) == (wanted if lacks else {})


def test_words_say_what_it_was() -> None:
    assert told({"a": "1", "delta.b": "2"}, {"Delta.B": "3"}) == "a=1 (before: not set), delta.b=2 (before: 3)"
    assert str(PROTOCOL) == "reader 3, writer 7, with deletionVectors"


def test_an_error_is_about_the_property_that_it_names() -> None:
    assert at_fault(["delta.a", "delta.b"], "DELTA.B is no interval") == "table.property.delta.b"
    assert at_fault(["delta.a", "delta.b"], "no") == "table.property.delta.a"
