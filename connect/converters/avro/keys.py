"""The settings of AvroConverter, under Confluent's names and with its defaults.

https://docs.confluent.io/platform/current/schema-registry/connect.html#avro
"""

from __future__ import annotations

from connect import settings
from connect.settings import Importance


class AvroOptions(settings.Options):
    """How schemas and values are mapped."""

    enhanced = settings.Boolean(
        "enhanced.avro.schema.support",
        default=False,
        doc="Whether enums stay enums, and members of unions go by their full names.",
    )
    meta_data = settings.Boolean(
        "connect.meta.data",
        default=True,
        doc="Whether what only Connect has (names of simple types, versions, documentation, parameters) is written "
        "into Avro schemas, as connect.* properties.",
        importance=Importance.LOW,
    )
    discard = settings.Boolean(
        "discard.type.doc.default",
        default=False,
        doc="Whether only documentation and defaults of fields count, as in older versions.",
        importance=Importance.LOW,
    )
    optional_keys = settings.Boolean(
        "allow.optional.map.keys",
        default=False,
        doc="Whether a map with optional strings as keys becomes a map in Avro, and not an array of entries.",
        importance=Importance.LOW,
    )
    generalized = settings.Boolean(
        "generalized.sum.type.support",
        default=False,
        doc="Whether unions and enums have the form of the other formats' converters.",
    )
    flatten = settings.Boolean(
        "flatten.singleton.unions",
        default=True,
        doc="Whether a union of one type is that type.",
        importance=Importance.LOW,
    )
    flatten_unions = settings.Boolean(
        "flatten.unions",
        default=False,
        doc="Accepted so that configurations can be shared; only unions in Protobuf can be flattened.",
        importance=Importance.LOW,
    )
    scrub = settings.Boolean(
        "scrub.invalid.names",
        default=False,
        doc="Whether characters that Avro does not allow in names are replaced.",
    )
    ignore_default = settings.Boolean(
        "ignore.default.for.nullables",
        default=False,
        doc="Whether null stays null where a field has a default.",
    )
    remove_java = settings.Boolean(
        "avro.remove.java.properties",
        default=False,
        doc="Whether properties such as avro.java.string are left out of schemas that are registered.",
        importance=Importance.LOW,
    )
