"""The settings of ProtobufConverter, under Confluent's names and with its defaults.

https://docs.confluent.io/platform/current/schema-registry/connect.html#protobuf
"""

from __future__ import annotations

from connect import settings
from connect.settings import Importance


class ProtobufOptions(settings.Options):
    """How schemas and values are mapped."""

    generalized_sum_types = settings.Boolean(
        "generalized.sum.type.support",
        default=False,
        doc="Whether enums and unions are marked in the way that all of Confluent's converters share.",
    )
    ignore_default = settings.Boolean(
        "ignore.default.for.nullables",
        default=False,
        doc="Whether null stays null in a field that has a default.",
    )
    enhanced = settings.Boolean(
        "enhanced.protobuf.schema.support",
        default=False,
        doc="Whether names of schemas have the package of their message before them.",
    )
    scrub_names = settings.Boolean(
        "scrub.invalid.names",
        default=False,
        doc="Whether characters that Protobuf refuses in names are replaced when schemas are written.",
    )
    int_for_enums = settings.Boolean(
        "int.for.enums", default=False, doc="Whether enums are numbers; else they are strings."
    )
    optional_for_nullables = settings.Boolean(
        "optional.for.nullables",
        default=False,
        doc="Whether optional fields, and only those, have the label optional. Without this or wrapper.for.nullables "
        "null comes back as 0 or an empty text.",
    )
    optional_for_proto2 = settings.Boolean(
        "optional.for.proto2",
        default=True,
        doc="Whether optional fields of proto2 that are not set are null; else they have their default.",
    )
    wrapper_for_nullables = settings.Boolean(
        "wrapper.for.nullables",
        default=False,
        doc="Whether optional primitives are wrapper messages such as google.protobuf.StringValue, and only those.",
    )
    wrapper_for_raw_primitives = settings.Boolean(
        "wrapper.for.raw.primitives",
        default=True,
        doc="Whether a record that is a wrapper message as a whole is the primitive within it.",
    )
    struct_for_nulls = settings.Boolean(
        "generate.struct.for.nulls",
        default=False,
        doc="Whether messages that are not set are structs of defaults; else they are null. Decimals and dates, which "
        "have no default, are null.",
    )
    index_for_unions = settings.Boolean(
        "generate.index.for.unions",
        default=True,
        doc="Whether the names of fields for oneofs end with _ and the oneof's index.",
        importance=Importance.LOW,
    )
    flatten_unions = settings.Boolean(
        "flatten.unions",
        default=False,
        doc="Whether members of oneofs are optional fields; else each oneof is a struct.",
        importance=Importance.LOW,
    )
