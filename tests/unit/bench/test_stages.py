"""Every stage of a record is measured, and what is not in Arrow is counted."""

from pathlib import Path

import pytest

from bench import stages
from bench.part import Settings
from bench.shapes import shape


@pytest.mark.parametrize(("form", "targets"), [("declared", 7), ("schemaless", 4)])
def test_each_target_that_takes_the_form_has_figures(form: str, targets: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "RECORDS", 200)
    found = stages.measure(Settings(Path(), rounds=1, only=(f"plain-{form}",)))
    (row,) = found["rows"].values()
    assert len(row) == targets + 2
    assert all(side["median"]["us"] > 0 for side in row.values())
    fields = len(shape("plain").fields)
    assert row["chain"]["median"]["lists"] == (1 if form == "declared" else fields)  # the fixed text; one is dropped
    assert stages.table({**found, "part": "stages"}).count("\n") == 2


def test_the_chain_of_properties_has_its_transformations_in_order() -> None:
    chain = stages.chain_of(shape("structs").transforms)
    assert [type(each).__name__ for each in chain] == [
        "FlattenValue",
        "ReplaceFieldValue",
        "InsertFieldValue",
        "CastValue",
    ]
