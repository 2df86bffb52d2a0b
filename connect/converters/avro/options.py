"""What a user may choose about the mapping between Avro and Connect."""

from __future__ import annotations

from dataclasses import dataclass

from connect.settings import Config


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of `AvroConverter` that change the mapping; see there.

    Attributes:
        enhanced: enhanced.avro.schema.support.
        meta_data: connect.meta.data.
        generalized: generalized.sum.type.support.
        ignore_default: ignore.default.for.nullables.
        scrub: scrub.invalid.names.
        discard: discard.type.doc.default.
        optional_keys: allow.optional.map.keys.
        flatten: flatten.singleton.unions.
        remove_java: avro.remove.java.properties.
    """

    enhanced: bool = False
    meta_data: bool = True
    generalized: bool = False
    ignore_default: bool = False
    scrub: bool = False
    discard: bool = False
    optional_keys: bool = False
    flatten: bool = True
    remove_java: bool = False

    @classmethod
    def of(cls, config: Config) -> Options:
        """Those of a configuration."""
        return cls(
            enhanced=config["enhanced.avro.schema.support"],
            meta_data=config["connect.meta.data"],
            generalized=config["generalized.sum.type.support"],
            ignore_default=config["ignore.default.for.nullables"],
            scrub=config["scrub.invalid.names"],
            discard=config["discard.type.doc.default"],
            optional_keys=config["allow.optional.map.keys"],
            flatten=config["flatten.singleton.unions"],
            remove_java=config["avro.remove.java.properties"],
        )
