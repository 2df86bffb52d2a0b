"""Where we differ from Kafka Connect's transformations on purpose, and why. Whatever is not in this list is a failure.

`docs/transformations.md` says the same to users, under "Where we differ".
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from connect.data import Record, Schema, logical

from .java import Case, Raised

When = Callable[[Case, Record | None, Any, Any], bool]


@dataclass(frozen=True)
class Difference:
    """One reason, and when it holds.

    Attributes:
        reason: why we differ.
        names: a pattern of the names of the classes that it is about.
        when: given the case, the record, our result and Java's.
    """

    reason: str
    names: str
    when: When


def excused(case: Case, record: Record | None, ours: Any, theirs: Any) -> str | None:
    """The reason why two results differ, if there is a good one."""
    for difference in DIFFERENCES:
        if re.fullmatch(difference.names, case.name) and difference.when(case, record, ours, theirs):
            return difference.reason
    return None


def refused_early(saying: str) -> When:
    """We refuse the configuration, in such words; Java takes it."""

    def when(case: Case, record: Record | None, ours: Any, theirs: Any) -> bool:
        refused = isinstance(ours, Raised) and ours.where == "configure" and re.search(saying, ours.message)
        return bool(refused) and not (isinstance(theirs, Raised) and theirs.where == "configure")

    return when


def java_cannot(error: str, saying: str) -> When:
    """Java ends in such an error, we do not, or in another one."""

    def when(case: Case, record: Record | None, ours: Any, theirs: Any) -> bool:
        return (
            not (isinstance(ours, Raised) and ours.where == "configure")
            and isinstance(theirs, Raised)
            and theirs.where == "apply"
            and theirs.error == error
            and bool(re.search(saying, theirs.message))
        )

    return when


def _null_in_configuration(case: Case, record: Record | None, ours: Any, theirs: Any) -> bool:
    return None in case.config.values()


def _empty_container(case: Case, record: Record | None, ours: Any, theirs: Any) -> bool:
    return bool(re.fullmatch(r"\s*(\[\s*\]|\{\s*\})\s*", case.config.get("value.literal") or "")) and not isinstance(
        ours, Raised
    )


def _renamed_onto(case: Case, record: Record | None, ours: Any, theirs: Any) -> bool:
    """A new name is another field's name already, or that of two renames."""
    renames = dict(pair.split(":") for pair in (case.config.get("renames") or "").split(",") if pair.count(":") == 1)
    schema, _ = part_of(case, record)
    if schema is None or isinstance(ours, Raised):
        return False
    twice = len(set(renames.values())) < len(renames)
    return twice or any(new != old and schema.field(new) is not None for old, new in renames.items())


def _was_logical(case: Case, record: Record | None, ours: Any, theirs: Any) -> bool:
    schema, _ = part_of(case, record)
    one_type = ":" not in (case.config["spec"] or "")
    was_logical = schema is not None and logical.python_type(schema) is not None
    return one_type and was_logical and not isinstance(ours, Raised)


def _odd_dates(case: Case, record: Record | None, ours: Any, theirs: Any) -> bool:
    """A pattern with two zones."""
    form = case.config.get("format") or ""
    runs = [run[0] for run in re.findall(r"([a-zA-Z])\1*", re.sub("'[^']*'", "", form))]
    return sum(run in "XzZ" for run in runs) > 1


def part_of(case: Case, record: Record | None) -> tuple[Schema | None, Any]:
    """The key or the value, whichever the class is for."""
    assert record is not None
    return (record.key_schema, record.key) if case.name.endswith("$Key") else (record.value_schema, record.value)


DIFFERENCES = [
    Difference(
        "Where a pattern lets a text say two different zones (X beside z) another of the two may count",
        "TimestampConverter.*",
        _odd_dates,
    ),
    Difference(
        "What was a date, time or decimal and is cast as a whole value is called so no more; Kafka Connect leaves its"
        " schema the name, and no converter can write it",
        "Cast.*",
        _was_logical,
    ),
    Difference(
        "Of two things that are wrong with a record another one is named",
        "InsertField.*",
        lambda case, record, ours, theirs: (
            isinstance(theirs, Raised) and isinstance(ours, Raised) and "Only records of a sink" in ours.message
        ),
    ),
    Difference(
        "Dates before 15 October 1582, which Java counts by the Julian calendar, are neither written as text nor read",
        "TimestampConverter.*",
        lambda case, record, ours, theirs: isinstance(ours, Raised) and "before 15 October 1582" in ours.message,
    ),
    Difference(
        "Dates are Python's, of the years 1 to 9999; a moment outside of them is an error of its record",
        "TimestampConverter.*",
        lambda case, record, ours, theirs: isinstance(ours, Raised) and "outside the years 1 to 9999" in ours.message,
    ),
    Difference(
        "A field whose name is the new name of another, absent or excluded one keeps its value; Kafka Connect looks for"
        " it under the old name, and refuses the record or hands on what was excluded",
        "ReplaceField.*",
        _renamed_onto,
    ),
    Difference(
        "A key with the value null is a key that is not set: its default counts, or it is missed; in Kafka Connect some"
        " classes go on with null",
        ".*",
        _null_in_configuration,
    ),
    Difference(
        "An empty list or map in value.literal has no schema; Kafka Connect gives it one whose elements have none,"
        " which no converter can write",
        "InsertHeader",
        _empty_container,
    ),
    Difference(
        "What can never work is refused when the connector is validated: an empty entry of a list, an empty name, a"
        " replacement that names no group, a pattern of dates that is broken; Kafka Connect says so with an error for"
        " each record, or nothing at all",
        "HeaderFrom.*|RegexRouter|TimestampRouter|ExtractField.*",
        refused_early(
            r"has an empty entry|must name a field|names (the )?group|ends with a backslash|has a \$|has the letter"
            r"|a quote that is not closed"
        ),
    ),
    Difference(
        "A group that is repeated possessively, in an alternative that is given up, matched nothing; Java keeps what "
        "it had matched there",
        "RegexRouter",
        lambda case, record, ours, theirs: (
            re.search(r"\)(?:[*+?]|\{\d+(?:,\d*)?\})\+", case.config["regex"] or "") is not None
            and not isinstance(ours, Raised)
            and not isinstance(theirs, Raised)
        ),
    ),
    Difference(
        "Regular expressions are Python's, and what cannot be said there is refused with its name: classes within"
        " classes and &&, \\\\p{L} and other properties of Unicode, \\\\G, \\\\X, the flags x, d and U, a"
        " look-behind of no fixed length, references to groups that are not there, a repetition of a repetition",
        "RegexRouter|predicates.TopicNameMatches",
        refused_early("is not a regular expression"),
    ),
    Difference(
        "A struct whose schema has a default goes through; Kafka Connect takes the new schema and one made"
        " alike for different ones, and refuses the record",
        ".*",
        java_cannot("DataException", "Struct schemas do not match|does not support casting from STRUCT"),
    ),
    Difference(
        "A field that was left to its default stays so with replace.null.with.default=false; Kafka Connect refuses the"
        " record, though its schema allows it",
        ".*",
        java_cannot("DataException", "null used for required field|A null value requires an optional schema"),
    ),
]

#: Keys that ours have and Kafka Connect's do not, by the name of the class without its $Key or $Value.
OUR_OWN_KEYS: dict[str, set[str]] = {
    name: {"field.syntax.version"}
    for name in ("Cast", "HeaderFrom", "InsertField", "MaskField", "ReplaceField", "TimestampConverter", "ValueToKey")
} | {"HoistField": {"field.syntax.version", "hoisted"}}

#: What one of the two finds wrong with a value, and the other does not: patterns of the name of the class, of the key
#: and of what the one that refuses says, and the reason.
VALUES = [
    ("HeaderFrom.*", "fields", "has an empty entry", "see above"),
    ("RegexRouter", "regex", "is not a regular expression", "see above"),
    ("predicates.TopicNameMatches", "pattern", "is not a regular expression", "see above"),
    (
        ".*",
        "fields|include|exclude|headers",
        "must not be duplicated",
        "A name that is written twice counts once; Kafka Connect refuses it in validation, and takes it at work",
    ),
]


def excused_value(name: str, key: str, said: str) -> str | None:
    """The reason why only one of the two refuses a value, given the words of that one."""
    for names, keys, words, reason in VALUES:
        if re.fullmatch(names, name) and re.fullmatch(keys, key) and re.search(words, said):
            return reason
    return None
