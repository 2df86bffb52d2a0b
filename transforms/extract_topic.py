"""Take the topic from the key, the value or a header, as Confluent's ExtractTopic does.

https://docs.confluent.io/platform/current/connect/transforms/extracttopic.html
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal, TypeVar

from connect import Batch, ConfigError, DataError, Schema, Transformation, Type, Values, settings
from connect.data.column import Plain
from connect.settings import Config, Definition
from transforms.json_path import JsonPath, parse

B = TypeVar("B", bound=Batch[Any])

_SKIP = settings.Boolean(
    "skip.missing.or.null",
    default=False,
    doc="Whether a record stays in its topic if the name of the new one is missing, null or empty. Otherwise the "
    "record is refused.",
)


class _ExtractTopic(Transformation, ABC):
    """What the three have in common: a column of names, where null leaves the topic."""

    pure = True
    _skip: bool

    @abstractmethod
    def _names(self, batch: Batch[Any]) -> list[str | None]:
        """The new topic of each row; None leaves it."""

    def apply_batch(self, batch: B) -> B:
        if not len(batch):
            return batch
        names = self._names(batch)
        old = batch.topics.to_list()
        topics = [name or topic for name, topic in zip(names, old, strict=True)]
        return batch if topics == old else batch.with_columns(topics=Plain(topics))

    def _checked(self, name: Any, what: str) -> str | None:
        """The name of a topic if the value is one; None to leave the topic. Raises `DataError`."""
        if isinstance(name, str) and name:
            return name
        if name is not None and not isinstance(name, str):
            raise DataError(f"{what} names the topic and must be a string, but it is {type(name).__name__}.")
        if self._skip:
            return None
        raise DataError(
            f"{what} names the topic, but it is {'missing or null' if name is None else 'empty'}. "
            "Set skip.missing.or.null=true to leave such records in their topic."
        )


class ExtractTopic(_ExtractTopic):
    """Sends each record to the topic that its value, or a field of the value, names. Column by column."""

    part: ClassVar[Literal["keys", "values"]] = "values"
    settings: ClassVar[Definition] = settings.define(
        settings.String(
            "field", default="", doc="The field that holds the name of the topic. Empty: the whole value, a string."
        ),
        settings.String(
            "field.format",
            default="PLAIN",
            validator=settings.one_of("PLAIN", "JSON_PATH", ignore_case=True),
            doc="How the field is written: PLAIN, the name of a top-level field, or JSON_PATH, such as "
            "$.after.topic or $['f1']['f3'].",
        ),
        _SKIP,
    )

    def configure(self, config: Config) -> None:
        self._field: str = config["field"]
        self._skip = config["skip.missing.or.null"]
        self._path: JsonPath | None = None
        self._what = (
            f"The {self.part[:-1]}" if not self._field else f'The field "{self._field}" of the {self.part[:-1]}'
        )
        if config["field.format"].upper() == "JSON_PATH" and self._field:
            try:
                self._path = parse(self._field)
            except ValueError as error:
                raise ConfigError("field", str(error)) from None
            if not self._path.is_definite:
                raise ConfigError("field", f'"{self._field}" may lead to several values. Write a path to one.')

    def apply(self, record: Any) -> Any:
        keys = self.part == "keys"
        schema, value = (record.key_schema, record.key) if keys else (record.value_schema, record.value)
        topic = self._of_one_schema(Values([value], schema))[0]
        return record if topic is None or topic == record.topic else record.replace(topic=topic)

    def _names(self, batch: Batch[Any]) -> list[str | None]:
        names: list[str | None] = [None] * len(batch)
        values: Values = getattr(batch, self.part)
        for rows, group in values.groups():
            for row, name in zip(rows, self._of_one_schema(group), strict=True):
                names[row] = name
        return names

    def _of_one_schema(self, values: Values) -> list[str | None]:
        columns = values.struct_columns
        if columns is not None and self._field and self._path is None:
            member = columns.struct.field(self._field)
            found = [None] * len(values) if member is None else columns.field(self._field).items
            default = None if member is None else member.schema.default
        else:
            found, default = self._found(values.schemas[0], values.to_list())
        check, what = self._checked, self._what
        return [check(default if name is None else name, what) for name in found]

    def _found(self, schema: Schema | None, items: list[Any]) -> tuple[list[Any], Any]:
        """The name of the topic for each value, and the default for null."""
        if not self._field:
            return items, None
        if schema is not None and schema.type not in (Type.STRUCT, Type.MAP):
            raise DataError(
                f'The field "{self._field}" names the topic, but the {self.part[:-1]} has no fields: '
                f"it is {schema.type.name}."
            )
        for item in items:
            if item is not None and not isinstance(item, dict):
                raise DataError(
                    f'The field "{self._field}" names the topic, but the {self.part[:-1]} has no fields: '
                    f"it is {type(item).__name__}."
                )
        if self._path is not None:
            return list(map(self._path.one, items)), None
        member = schema.field(self._field) if schema is not None else None
        found = [None if item is None else item.get(self._field) for item in items]
        if member is None or member.schema.default is None:
            return found, None
        # A null record has no fields, and so no default.
        default = member.schema.default
        pairs = zip(items, found, strict=True)
        return [default if name is None and item is not None else name for item, name in pairs], None


class ExtractTopicKey(ExtractTopic):
    """ExtractTopic$Key."""

    part = "keys"


class ExtractTopicValue(ExtractTopic):
    """ExtractTopic$Value."""


class ExtractTopicHeader(_ExtractTopic):
    """Sends each record to the topic that a header names, the last one of that name."""

    settings = settings.define(
        settings.String("field", validator=settings.non_empty, doc="The name of the header."),
        settings.String(
            "field.format",
            default="PLAIN",
            validator=settings.one_of("PLAIN", ignore_case=True),
            doc="Only PLAIN: a header is read as a whole.",
        ),
        _SKIP,
    )

    def configure(self, config: Config) -> None:
        self._field: str = config["field"]
        self._skip = config["skip.missing.or.null"]

    def apply(self, record: Any) -> Any:
        topic = self._name(record.headers)
        return record if topic is None or topic == record.topic else record.replace(topic=topic)

    def _names(self, batch: Batch[Any]) -> list[str | None]:
        return list(map(self._name, batch.headers))

    def _name(self, headers: Any) -> str | None:
        header = headers.last(self._field)
        return self._checked(None if header is None else header.value, f'The header "{self._field}"')
