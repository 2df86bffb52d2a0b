"""Filter and route records by an expression, as Debezium's Filter and ContentBasedRouter do by a script.

Debezium runs Groovy, JavaScript or WebAssembly in the JVM; here the expression is one of `transforms.expressions`.

https://debezium.io/documentation/reference/stable/transformations/filtering.html
https://debezium.io/documentation/reference/stable/transformations/content-based-routing.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeVar

from connect import Batch, Transformation, Values, settings
from connect.settings import Config
from connect.settings.java_regex import java_regex
from transforms.expression import Expression, condition_of, value_of
from transforms.expressions.parse import Assignment
from transforms.expressions.tree import Ref
from transforms.rows import with_groups
from transforms.topics import regular_expression

B = TypeVar("B", bound=Batch[Any])

_LANGUAGES: Final = ("sql", "expression")


def _language(name: str, value: str) -> None:
    if value.lower().startswith(("jsr223.", "wasm.")):
        raise ValueError(
            f"{value} is a scripting language of the JVM; this runtime takes SQL expressions instead "
            "(docs/expressions.md). Remove the key, or write sql, and translate the expression: value.op == 'u' && "
            "value.before.id == 2 becomes op = 'u' and before.id = 2, header.x.value becomes headers.x, and topic "
            "becomes record.topic."
        )
    if value.lower() not in _LANGUAGES:
        raise ValueError(f'"{value}" is not a supported language. Write sql, or remove the key.')


_OTHERS: Final = settings.define(
    settings.String(
        "language",
        default="sql",
        importance="HIGH",
        validator=_language,
        doc="Only sql. Debezium's languages (jsr223.groovy, jsr223.graal.js, wasm.chicory) are refused: translate the "
        "expression.",
    ),
    settings.String(
        "topic.regex",
        default="",
        importance="LOW",
        validator=lambda name, text: regular_expression(name, text) if text else None,
        doc="Java regular expression for the topics that the expression applies to. It must match the whole name; "
        "records of other topics pass unchanged. Empty: all topics.",
    ),
    settings.String(
        "null.handling.mode",
        default="keep",
        importance="LOW",
        validator=settings.one_of("keep", "drop", "evaluate", ignore_case=True),
        doc="What to do with a record whose value is null: keep (it passes unchanged), drop, evaluate (the expression "
        "decides).",
    ),
)


class _ForSome(Expression):
    """What both have in common: which records the expression applies to."""

    def _configure_others(self, config: Config) -> None:
        self._filter = self._fields = ""
        self._drop = frozenset()
        self._topic = java_regex(config["topic.regex"]) if config["topic.regex"] else None
        self._nulls: str = config["null.handling.mode"].lower()

    def _takes(self, topic: str) -> bool:
        return self._topic is None or self._topic.fullmatch(topic) is not None

    def apply(self, record: Any) -> Any:
        if not self._takes(record.topic):
            return record
        if record.value is None and self._nulls != "evaluate":
            return record if self._nulls == "keep" else None
        return super().apply(record)


class FilterByExpression(_ForSome):
    """Keeps the records for which a condition is true, and drops those for which it is false or null.

    The condition runs on whole columns, in Arrow where the batch holds Arrow. Conditions that read headers, or keys of
    several schemas, run record by record.
    """

    filter_key = "condition"
    settings = (
        settings.define(
            settings.String(
                "condition",
                importance="HIGH",
                width="LONG",
                validator=lambda name, text: condition_of(name, text) and None,
                doc="The condition that a record must meet to be kept: op = 'u' and before.id = 2.",
            )
        )
        | _OTHERS
    )

    def configure(self, config: Config) -> None:
        self._configure_others(config)
        self._filter = config["condition"]
        self._prepare(condition_of("condition", self._filter), [])

    def apply_batch(self, batch: B) -> B:
        if not self._by_columns(batch):
            return Transformation.apply_batch(self, batch)
        key_schema = batch.keys.schemas[0] if "key" in self._roots and len(batch) else None
        groups: list[tuple[Sequence[int], Values]] = []
        for rows, values in batch.values.groups():
            for members, part, evaluated in self._parts(batch, rows, values):
                groups.append(self._column(batch, key_schema, members, part) if evaluated else (members, part))
        return with_groups(batch, "values", groups)

    def _parts(
        self, batch: Batch[Any], rows: Sequence[int], values: Values
    ) -> Iterator[tuple[Sequence[int], Values, bool]]:
        """The rows of a group in parts, and whether the condition applies to each. Rows to drop are left out."""
        live = values.struct_columns is not None or self._nulls == "evaluate"
        if live and self._topic is None:
            yield rows, values, True
            return
        topics = batch.topics.take(list(rows)).to_list()
        taken = {topic: self._takes(topic) for topic in set(topics)}
        nulls = [False] * len(values) if live else [value is None for value in values.to_list()]
        asked, past = list[int](), list[int]()
        for place, (topic, null) in enumerate(zip(topics, nulls, strict=True)):
            if not taken[topic] or (null and self._nulls == "keep"):
                past.append(place)
            elif not null:
                asked.append(place)
        for places, evaluated in ((asked, True), (past, False)):
            if places:
                part = values if len(places) == len(values) else values.take(places)
                yield [rows[place] for place in places], part, evaluated


class ContentBasedRouter(_ForSome):
    """Sends each record to the topic that an expression returns; null leaves it in its topic. Record by record."""

    fields_key = "topic.expression"
    settings = (
        settings.define(
            settings.String(
                "topic.expression",
                importance="HIGH",
                width="LONG",
                validator=lambda name, text: value_of(name, text) and None,
                doc="Returns the name of the topic: case when op = 'u' then 'updates' end. Null leaves the topic.",
            )
        )
        | _OTHERS
    )

    def configure(self, config: Config) -> None:
        self._configure_others(config)
        self._fields = config["topic.expression"]
        tree = value_of("topic.expression", self._fields)
        self._prepare(None, [Assignment(Ref(0, "record", ("topic",)), tree)])
