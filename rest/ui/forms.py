"""A configuration as a form, from the definitions of a validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

#: The name of a form's field is this and the key's; other fields are the form's own.
PREFIX: Final = "key:"
#: Keys that no definition speaks of, as lines `key=value`. Values stand there as they are: nobody has to escape the
#: backslashes of a pattern, as in a properties file.
OTHERS: Final = "others"
_UNGROUPED: Final = "Connector"


@dataclass(frozen=True, slots=True)
class Field:
    """One key.

    Attributes:
        kind: of Kafka's types of configuration values: STRING, INT, BOOLEAN, LIST, PASSWORD, ...
        value: as written; empty when it is not.
        default: the value when none is written; None when there is none.
        choices: recommended values.
    """

    key: str
    label: str
    kind: str
    required: bool
    important: bool
    doc: str
    value: str
    default: str | None
    choices: Sequence[str]
    errors: Sequence[str]

    @property
    def secret(self) -> bool:
        """Whether its value must not be visible."""
        return self.kind == "PASSWORD"

    @property
    def first(self) -> bool:
        """Whether it is among the keys that every user has to see."""
        return self.required or self.important or bool(self.value or self.errors)


@dataclass(slots=True)
class Group:
    """Keys that belong together, in the order of their definitions."""

    name: str
    fields: list[Field] = field(default_factory=list)

    @property
    def first(self) -> list[Field]:
        """What is shown at once."""
        return [one for one in self.fields if one.first]

    @property
    def more(self) -> list[Field]:
        """What is shown when asked for."""
        return [one for one in self.fields if not one.first]


@dataclass(frozen=True, slots=True)
class Form:
    """All keys of a connector with their values.

    Attributes:
        others: lines `key=value` of keys without a definition.
        count: of errors.
        unplaced: errors of keys that have no field, by key.
    """

    groups: Sequence[Group]
    others: str
    count: int
    unplaced: Mapping[str, Sequence[str]]


def form(validated: Mapping[str, Any], written: Mapping[str, str], *, errors: bool) -> Form:
    """The form for a response of PUT /connector-plugins/{class}/config/validate.

    `errors`: whether to show them. In an empty form they would only say that nothing is written.
    """
    found: dict[str, Group] = {}
    defined, unplaced, count = set(), {}, 0
    entries = sorted(
        (
            one
            for one in validated["configs"]
            if one["value"].get("visible", True) is not False or one["value"]["errors"]
        ),
        key=lambda one: (one["definition"] or {}).get("order_in_group") or 0,
    )
    groups = [(one["definition"] or {}).get("group") for one in validated["configs"]]
    for entry in entries:
        definition, value = entry["definition"], entry["value"]
        said = list(value["errors"]) if errors else []
        count += len(said)
        if definition is None:
            if said:
                unplaced[value["name"]] = said
            continue
        defined.add(value["name"])
        name = definition.get("group") or _UNGROUPED
        found.setdefault(name, Group(name)).fields.append(_field(definition, value, written, said))
    ordered = [found[name or _UNGROUPED] for name in dict.fromkeys(groups) if (name or _UNGROUPED) in found]
    ordered.sort(key=lambda group: not group.first)  # what somebody has to fill in stands before what may be left
    others = "".join(f"{key}={value}\n" for key, value in sorted(written.items()) if key not in defined)
    return Form(ordered, others, count, unplaced)


def _field(
    definition: Mapping[str, Any], value: Mapping[str, Any], written: Mapping[str, str], errors: Sequence[str]
) -> Field:
    choices = list(value.get("recommended_values") or [])
    if definition["type"] == "BOOLEAN":
        choices = ["true", "false"]
    return Field(
        key=value["name"],
        label=definition.get("display_name") or value["name"],
        kind=definition["type"],
        required=bool(definition["required"]),
        important=definition["importance"] == "HIGH",
        doc=definition.get("documentation") or "",
        value=written.get(value["name"], ""),
        default=definition.get("default_value"),
        choices=choices,
        errors=errors,
    )


def written(sent: Mapping[str, str]) -> dict[str, str]:
    """The configuration of a submitted form: empty fields are not written.

    Raises:
        ValueError: a line of the other keys has no `=`.
    """
    config = {
        key.removeprefix(PREFIX): value for key, value in sent.items() if key.startswith(PREFIX) and value.strip()
    }
    for line in sent.get(OTHERS, "").splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        key, separator, value = line.partition("=")
        if not separator or not key.strip():
            raise ValueError(f'"{line.strip()}" is not of the form key=value.')
        config[key.strip()] = value.strip()
    return config
