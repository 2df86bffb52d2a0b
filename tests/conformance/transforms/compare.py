"""Both sides, beside each other."""

from collections.abc import Sequence
from typing import Any

from connect.data import Batch, Record
from tests.support.java import Oracle

from .deliberate import excused
from .java import Case, Raised, Result, ask
from .ours import as_columns, batch_of, configured, run, run_batch

#: Which errors of ours stand for one of Java's. Whatever else Java raises comes from its insides: it would be an error
#: of a record here, or of Connect.
ERRORS = {
    "ConfigException": {"ConfigError"},
    "DataException": {"DataError", "SchemaError"},
    "SchemaBuilderException": {"SchemaError"},
}


def disagreements(java: Oracle, cases: Sequence[Case]) -> list[str]:
    """Where Java and we do not say the same of a record, and nobody meant it: a line each."""
    lines = []
    for case, theirs in zip(cases, ask(java, cases), strict=True):
        for number, (their, our) in enumerate(zip(theirs, run(case), strict=True)):
            record = case.records[number] if case.records else None
            if not alike(our, their) and excused(case, record, our, their) is None:
                lines.append(
                    f"{case.name} {case.config} {record}\n  Java {_said(their, our)}\n  ours {_said(our, their)}"
                )
    return lines


def alike(our: Result, their: Result) -> bool:
    """Whether both say the same."""
    if isinstance(their, Raised):
        if not isinstance(our, Raised) or our.where != their.where:
            return False
        if their.where == "configure":
            return our.error == "ConfigError"
        return our.error in ERRORS.get(their.error, {"DataError", "SchemaError", "ConnectError"})
    return not isinstance(our, Raised) and our == their


def _said(one: Result, other: Result) -> Any:
    """What differs, where both are records."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {key: item for key, item in one.items() if other.get(key, ...) != item}
    return one


def batch_disagreements(cases: Sequence[Case]) -> list[str]:
    """Where a batch of a case's records, in each of its forms, does not give what they give one by one."""
    lines = []
    for case in cases:
        made = configured(case)
        if isinstance(made, Raised) or not case.records:
            continue
        expected = _kept(run(case))
        for how, batch in forms(case.records).items():
            got = run_batch(made, batch)
            got = AN_ERROR if isinstance(got, Raised) else got
            if got != expected:
                lines.append(f"{case.name} {case.config} {how} {case.records}\n  rows {expected}\n  batch {got}")
    return lines


AN_ERROR = "an error"


def _kept(results: Sequence[Result]) -> Any:
    """What a batch is left with, given what became of each record."""
    if any(isinstance(result, Raised) for result in results):
        return AN_ERROR
    return [result for result in results if result is not None]


def forms(records: Sequence[Record]) -> dict[str, Batch[Any]]:
    """The records as batches: a list of values, structs as a list for each field, and structs in Arrow."""
    batch = batch_of(records)
    return {
        "list": batch,
        "lists of fields": as_columns(batch, arrow=False),
        "Arrow": as_columns(batch, arrow=True),
    }
