"""The settings of JsonSchemaConverter, under Confluent's names and with its defaults.

https://docs.confluent.io/platform/current/schema-registry/connect.html#json-schema
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from connect import settings
from connect.converters.kind import CONVERTER_TYPE
from connect.converters.registry import registry_settings
from connect.settings import Config, Importance


def _not_yet(name: str, value: Any) -> None:
    if value:
        raise ValueError("true is not known here: properties that the schema does not name are dropped.")


SETTINGS: Final = registry_settings(
    CONVERTER_TYPE,
    settings.Boolean(
        "generalized.sum.type.support",
        default=False,
        doc="Whether enums and unions are marked in the way that all of Confluent's converters share.",
    ),
    settings.Boolean(
        "ignore.default.for.nullables",
        default=False,
        doc="Whether null is written as null in a field that has a default.",
    ),
    settings.Int(
        "schemas.cache.config",
        default=1000,
        doc="How many converted schemas are remembered.",
        importance=Importance.LOW,
    ),
    settings.Boolean(
        "object.additional.properties",
        default=True,
        doc="Whether schemas that are registered allow properties that they do not name.",
    ),
    settings.Boolean(
        "use.optional.for.nonrequired",
        default=False,
        doc="Whether properties that are not required are optional.",
    ),
    settings.String(
        "decimal.format",
        default="BASE64",
        doc="How decimals are written: BASE64 keeps every digit, NUMERIC is a JSON number. Both are read.",
        importance=Importance.LOW,
        validator=settings.one_of("BASE64", "NUMERIC", ignore_case=True),
    ),
    settings.Boolean(
        "flatten.singleton.unions",
        default=True,
        doc="Whether a union of one type is that type.",
        importance=Importance.LOW,
    ),
    settings.Boolean(
        "preserve.additional.properties",
        default=False,
        doc="Whether properties that the schema does not name are kept. Only false is known here.",
        importance=Importance.LOW,
        validator=_not_yet,
    ),
    settings.Boolean(
        "json.fail.invalid.schema",
        default=False,
        doc="Whether records are validated against their schema, when they are read and when they are written.",
    ),
).with_others(
    without_effect={"ignore.modern.dialects": settings.WithoutEffect("all dialects are read alike", unless=("false",))}
)


@dataclass(frozen=True)
class Options:
    """What of the settings says how schemas and values are mapped. Each is the setting of that name."""

    generalized_sum_types: bool = False
    ignore_default: bool = False
    additional_properties: bool = True
    optional_for_non_required: bool = False
    decimal_numeric: bool = False
    flatten_singleton_unions: bool = True

    @classmethod
    def of(cls, config: Config) -> Options:
        """What a configuration says."""
        return cls(
            generalized_sum_types=config["generalized.sum.type.support"],
            ignore_default=config["ignore.default.for.nullables"],
            additional_properties=config["object.additional.properties"],
            optional_for_non_required=config["use.optional.for.nonrequired"],
            decimal_numeric=config["decimal.format"].upper() == "NUMERIC",
            flatten_singleton_unions=config["flatten.singleton.unions"],
        )
