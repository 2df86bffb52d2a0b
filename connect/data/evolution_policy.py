"""What a user allows to change in a target so that records fit: the settings of schema evolution, for all sinks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from connect import settings
from connect.errors import ConfigError

ADD: Final = "add"
WIDEN: Final = "widen"
NULLABLE: Final = "nullable"
_ALL: Final = frozenset({ADD, WIDEN, NULLABLE})

#: What other projects call it, with what it allows when it is true.
ALIASES: Final[Mapping[str, frozenset[str]]] = {
    "auto.evolve": frozenset({ADD}),
    "iceberg.tables.evolve-schema-enabled": _ALL,
    "allowNewBigQueryFields": frozenset({ADD}),
    "allowBigQueryRequiredFieldRelaxation": frozenset({NULLABLE}),
}


def _changes(name: str, value: list[str]) -> None:
    known = {*_ALL, "none", "full"}
    if wrong := [word for word in value if word not in known]:
        raise ValueError(f'"{wrong[0]}" is no change of a schema. Write none, full, or some of add, widen, nullable.')
    if len(value) > 1 and {"none", "full"} & set(value):
        raise ValueError("none and full stand alone. Write none, full, or some of add, widen, nullable.")


#: For sinks: `settings = settings.define(...) | evolution.SETTINGS`.
SETTINGS: Final = settings.define(
    settings.List(
        "schema.evolution",
        default=["none"],
        validator=_changes,
        group="Schema",
        doc="How the target may be changed so that records fit: add (new fields, as nullable ones unless they have a "
        "default), widen (a type that holds more without loss: int32 to int64, float to double, more digits of a "
        "decimal), nullable (a required field that records leave out or hold null in). Several with commas; full for "
        "all, none for none.",
    ),
    settings.String(
        "schema.evolution.unknown.fields",
        default="reject",
        validator=settings.one_of("reject", "ignore"),
        group="Schema",
        doc="What a field means that the target does not have and that may not be added: reject (the record does not "
        "fit) or ignore (the field is not written).",
    ),
    settings.String(
        "schema.evolution.on.mismatch",
        default="fail",
        validator=settings.one_of("fail", "quarantine", "pass"),
        group="Schema",
        doc="What happens to a record that does not fit the target: fail (the task fails), quarantine (the record goes "
        "to the error policy and its dead letter topic, the others are written; without errors.tolerance=all the task "
        "fails), pass (the target decides).",
    ),
)


@dataclass(frozen=True, slots=True)
class EvolutionPolicy:
    """What a user allows.

    Attributes:
        allowed: of "add", "widen" and "nullable".
        ignore_unknown: whether fields that may not be added are left out rather than making a record unfit.
        mismatch: "fail", "quarantine" or "pass".
    """

    allowed: frozenset[str] = frozenset()
    ignore_unknown: bool = False
    mismatch: str = "fail"

    @classmethod
    def of(cls, config: settings.Config) -> EvolutionPolicy:
        """Read a sink's settings, which contain `SETTINGS`. Of what other projects write, see `ALIASES`.

        Raises:
            ConfigError: an alias holds no boolean, or contradicts `schema.evolution`.
        """
        words = frozenset(config["schema.evolution"])
        allowed = _ALL if "full" in words else words - {"none"}
        told = {name: settings.Boolean(name).parse(config.raw[name]) for name in ALIASES if config.raw.get(name)}
        for name in (name for name, on in told.items() if on):
            if config.raw.get("schema.evolution") and not ALIASES[name] <= allowed:
                raise ConfigError(name, "contradicts schema.evolution. Write schema.evolution alone.")
            allowed |= ALIASES[name]
        return cls(
            allowed, config["schema.evolution.unknown.fields"] == "ignore", config["schema.evolution.on.mismatch"]
        )
