"""What a user allows to change in a target so that records fit: the settings of schema evolution, for all sinks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from connect import settings
from connect.errors import ConfigError

ADD: Final = "add"
WIDEN: Final = "widen"
NULLABLE: Final = "nullable"
FAIL: Final = "fail"
QUARANTINE: Final = "quarantine"
PASS: Final = "pass"  # noqa: S105 - no password
FULL: Final = "full"
#: Debezium's word: what is missing is created, and columns are added.
BASIC: Final = "basic"
ALL: Final = frozenset({ADD, WIDEN, NULLABLE})
_ALONE: Final = frozenset({"none", FULL})

#: What other projects call it, with what it allows when it is true.
ALIASES: Final[Mapping[str, frozenset[str]]] = {
    "auto.evolve": frozenset({ADD}),
    "iceberg.tables.evolve-schema-enabled": ALL,
    "allowNewBigQueryFields": frozenset({ADD}),
    "allowBigQueryRequiredFieldRelaxation": frozenset({NULLABLE}),
}


def _changes(name: str, value: list[str]) -> None:
    words = [word.lower() for word in value]
    if wrong := [word for word in words if word not in {*ALL, *_ALONE, BASIC}]:
        raise ValueError(
            f'"{wrong[0]}" is not a change of a schema. Write none, full, or some of add, widen, nullable.'
        )
    if len(words) > 1 and _ALONE & set(words):
        raise ValueError("none and full stand alone. Write none, full, or some of add, widen, nullable.")


def _told_otherwise(written: str, config: Mapping[str, Any]) -> str | None:
    """The combination of other projects' keys for allowed changes. The check refuses what is not a boolean."""
    told = {name: str(value).strip().lower() for name in ALIASES if (value := config.get(name))}
    if written.strip().lower() not in ("true", "false"):
        return written
    return ",".join(sorted(frozenset().union(*(ALIASES[name] for name, on in told.items() if on == "true")))) or None


class EvolutionOptions(
    settings.Options, aliases={name: settings.Alias("schema.evolution", value=_told_otherwise) for name in ALIASES}
):
    """The settings of schema evolution, for the options of a sink to inherit."""

    allowed = settings.List(
        "schema.evolution",
        default=["none"],
        validator=_changes,
        group="Schema",
        doc="How the target may be changed so that records fit: add (new fields, as nullable ones unless they have a "
        "default), widen (a type that holds more without loss: int32 to int64, float to double, more digits of a "
        "decimal), nullable (a required field that records leave out or hold null in). Several with commas; full for "
        "all, none for none.",
    )
    unknown_fields = settings.String(
        "schema.evolution.unknown.fields",
        default="reject",
        validator=settings.one_of("reject", "ignore", ignore_case=True),
        group="Schema",
        doc="What to do with a field that the target does not have and that may not be added: reject (the record does "
        "not fit) or ignore (the field is not written).",
    )
    mismatch = settings.String(
        "schema.evolution.on.mismatch",
        default=FAIL,
        validator=settings.one_of(FAIL, QUARANTINE, PASS, ignore_case=True),
        group="Schema",
        doc="What happens to a record that does not fit the target: fail (the task fails), quarantine (the record goes "
        "to the error policy and its dead letter topic, the others are written; without errors.tolerance=all the task "
        "fails), pass (the target decides).",
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
    mismatch: str = FAIL

    @classmethod
    def of(cls, config: settings.Config) -> EvolutionPolicy:
        """Read a sink's settings, which contain those of `EvolutionOptions`.

        Raises:
            ConfigError: a key of another project, see `ALIASES`, contradicts `schema.evolution`.
        """
        allowed = allowed_by(config["schema.evolution"])
        for name, means in ALIASES.items():
            if str(config.raw.get(name)).strip().lower() == "true" and not means <= allowed:
                raise ConfigError(name, "contradicts schema.evolution. Write schema.evolution alone.")
        return cls(
            allowed,
            config["schema.evolution.unknown.fields"].lower() == "ignore",
            config["schema.evolution.on.mismatch"].lower(),
        )


def allowed_by(words: list[str]) -> frozenset[str]:
    """Of "add", "widen" and "nullable" what the value of `schema.evolution` allows."""
    found = {word.lower() for word in words}
    return ALL if FULL in found else ALL & (found | ({ADD} if BASIC in found else set()))
