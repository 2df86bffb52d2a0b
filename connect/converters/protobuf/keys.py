"""The settings of ProtobufConverter, under Confluent's names and with its defaults.

https://docs.confluent.io/platform/current/schema-registry/connect.html#protobuf
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from connect import settings
from connect.converters.kind import CONVERTER_TYPE
from connect.converters.registry import registry_settings
from connect.settings import Config, Importance

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
        doc="Whether null stays null in a field that has a default.",
    ),
    settings.Int(
        "schemas.cache.config",
        default=1000,
        doc="How many converted schemas are remembered.",
        importance=Importance.LOW,
    ),
    settings.Boolean(
        "enhanced.protobuf.schema.support",
        default=False,
        doc="Whether names of schemas have the package of their message before them.",
    ),
    settings.Boolean(
        "scrub.invalid.names",
        default=False,
        doc="Whether characters that Protobuf does not take in names are replaced when schemas are written.",
    ),
    settings.Boolean("int.for.enums", default=False, doc="Whether enums are numbers; else they are strings."),
    settings.Boolean(
        "optional.for.nullables",
        default=False,
        doc="Whether what is optional has the label optional, and only that.",
    ),
    settings.Boolean(
        "optional.for.proto2",
        default=True,
        doc="Whether optional fields of proto2 that are not set are null; else they have their default.",
    ),
    settings.Boolean(
        "wrapper.for.nullables",
        default=False,
        doc="Whether optional primitives are wrapper messages such as google.protobuf.StringValue, and only those.",
    ),
    settings.Boolean(
        "wrapper.for.raw.primitives",
        default=True,
        doc="Whether a record that is a wrapper message as a whole is the primitive within it.",
    ),
    settings.Boolean(
        "generate.struct.for.nulls",
        default=False,
        doc="Whether messages that are not set are structs of defaults; else they are null.",
    ),
    settings.Boolean(
        "generate.index.for.unions",
        default=True,
        doc="Whether the names of fields for oneofs end with an underscore and the oneof's index.",
        importance=Importance.LOW,
    ),
    settings.Boolean(
        "flatten.unions",
        default=False,
        doc="Whether members of oneofs are optional fields; else each oneof is a struct.",
        importance=Importance.LOW,
    ),
)


@dataclass(frozen=True)
class Options:
    """What of the settings says how schemas and values are mapped. Each is the setting of that name."""

    generalized_sum_types: bool = False
    ignore_default: bool = False
    enhanced: bool = False
    scrub_names: bool = False
    int_for_enums: bool = False
    optional_for_nullables: bool = False
    optional_for_proto2: bool = True
    wrapper_for_nullables: bool = False
    wrapper_for_raw_primitives: bool = True
    struct_for_nulls: bool = False
    index_for_unions: bool = True
    flatten_unions: bool = False

    @classmethod
    def of(cls, config: Config) -> Options:
        """What a configuration says."""
        return cls(
            generalized_sum_types=config["generalized.sum.type.support"],
            ignore_default=config["ignore.default.for.nullables"],
            enhanced=config["enhanced.protobuf.schema.support"],
            scrub_names=config["scrub.invalid.names"],
            int_for_enums=config["int.for.enums"],
            optional_for_nullables=config["optional.for.nullables"],
            optional_for_proto2=config["optional.for.proto2"],
            wrapper_for_nullables=config["wrapper.for.nullables"],
            wrapper_for_raw_primitives=config["wrapper.for.raw.primitives"],
            struct_for_nulls=config["generate.struct.for.nulls"],
            index_for_unions=config["generate.index.for.unions"],
            flatten_unions=config["flatten.unions"],
        )
