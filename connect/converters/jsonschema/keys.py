"""The settings of JsonSchemaConverter, under Confluent's names and with its defaults.

https://docs.confluent.io/platform/current/schema-registry/connect.html#json-schema
"""

from __future__ import annotations

from typing import Any

from connect import settings
from connect.settings import Importance


def _not_yet(name: str, value: Any) -> None:
    if value:
        raise ValueError("true is not known here: properties that the schema does not name are dropped.")


class JsonSchemaOptions(
    settings.Options,
    without_effect={"ignore.modern.dialects": settings.WithoutEffect("all dialects are read alike", unless=("false",))},
):
    """How schemas and values are mapped."""

    generalized_sum_types = settings.Boolean(
        "generalized.sum.type.support",
        default=False,
        doc="Whether enums and unions are marked in the way that all of Confluent's converters share.",
    )
    ignore_default = settings.Boolean(
        "ignore.default.for.nullables",
        default=False,
        doc="Whether null is written as null in a field that has a default.",
    )
    additional_properties = settings.Boolean(
        "object.additional.properties",
        default=True,
        doc="Whether schemas that are registered allow properties that they do not name.",
    )
    optional_for_non_required = settings.Boolean(
        "use.optional.for.nonrequired",
        default=False,
        doc="Whether properties that are not required are optional.",
    )
    decimal_numeric = settings.String(
        "decimal.format",
        default="BASE64",
        doc="How decimals are written: BASE64 keeps every digit, NUMERIC is a JSON number. Both are read.",
        importance=Importance.LOW,
        validator=settings.one_of("BASE64", "NUMERIC", ignore_case=True),
        convert=lambda word: word.upper() == "NUMERIC",
    )
    flatten_singleton_unions = settings.Boolean(
        "flatten.singleton.unions",
        default=True,
        doc="Whether a union of one type is that type.",
        importance=Importance.LOW,
    )
    preserve_additional_properties = settings.Boolean(
        "preserve.additional.properties",
        default=False,
        doc="Whether properties that the schema does not name are kept. Only false is known here.",
        importance=Importance.LOW,
        validator=_not_yet,
    )
    json_fail_invalid_schema = settings.Boolean(
        "json.fail.invalid.schema",
        default=False,
        doc="Whether records are validated against their schema, when they are read and when they are written. "
        "Needs the extra jsonschema.",
    )
