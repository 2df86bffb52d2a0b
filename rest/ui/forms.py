"""A configuration as a form, from the definitions of a validation."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from connect.settings import comma_separated

#: The name of a form's field is this and the key's; other fields are the form's own.
PREFIX: Final = "key:"
#: Values that were picked of a list for a key, to be added to those that it has.
PICKED: Final = "pick:"
#: There for a key whose value is empty, which is not the same as none.
BLANK: Final = "blank:"
#: Keys that no definition speaks of, as lines `key=value`. Values stand there as they are: nobody has to escape the
#: backslashes of a pattern, as in a properties file.
OTHERS: Final = "others"
_UNGROUPED: Final = "Connector"
_OTHER_KEYS: Final = "Other keys"


@dataclass(frozen=True, slots=True)
class Listing:
    """The values that one key could have now, as the interface lists them. `message`: why there are none."""

    key: str
    values: Sequence[str]
    truncated: bool
    message: str


@dataclass(frozen=True, slots=True)
class Field:
    """One key.

    Attributes:
        kind: of Kafka's types of configuration values: STRING, INT, BOOLEAN, LIST, PASSWORD, ...
        value: as written; empty when it is not.
        blank: whether it is written, though there is nothing in it.
        default: the value when none is written; None when there is none.
        choices: recommended values.
        listed: whether values can be listed.
        listing: those values, once they were asked for.
    """

    key: str
    label: str
    kind: str
    required: bool
    important: bool
    doc: str
    value: str
    blank: bool
    default: str | None
    choices: Sequence[str]
    errors: Sequence[str]
    listed: bool = False
    listing: Listing | None = None

    @property
    def id(self) -> str:
        """The key without blanks, for attributes that name several elements."""
        return "_".join(self.key.split())

    @property
    def secret(self) -> bool:
        """Whether its value must not be visible."""
        return self.kind == "PASSWORD"

    @property
    def several(self) -> bool:
        """Whether it takes several values."""
        return self.kind == "LIST"

    @property
    def lines(self) -> int:
        """Of its value: a field of one line would lose the others, and the end of its own."""
        return self.value.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1

    @property
    def offers(self) -> Sequence[str]:
        """Values to choose one of."""
        if self.several or self.secret:
            return ()
        return self.listing.values if self.listing and self.listing.values else self.choices

    @property
    def picks(self) -> Sequence[str]:
        """Values to add to those that it has."""
        if not self.several or not self.listing:
            return ()
        there = set(comma_separated(self.value))
        return [value for value in self.listing.values if value not in there]

    @property
    def first(self) -> bool:
        """Whether it is among the keys that every user has to see."""
        return self.required or self.important or bool(self.value or self.errors or self.blank or self.listing)


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
        unplaced: errors of keys that have no field, by key.
    """

    groups: Sequence[Group]
    others: str
    unplaced: Mapping[str, Sequence[str]]


def form(
    validated: Mapping[str, Any],
    written: Mapping[str, str],
    *,
    errors: bool,
    listed: Collection[str] = (),
    listing: Listing | None = None,
) -> Form:
    """The form for a response of PUT /connector-plugins/{class}/config/validate.

    Args:
        written: the configuration.
        errors: whether to show them. In an empty form they would only say that nothing is written.
        listed: the keys of which values can be listed.
        listing: the values of one of them.
    """
    found: dict[str, Group] = {}
    defined, unplaced = set(), {}
    entries = sorted(
        (one for one in validated["configs"] if _is_shown(one, written)),
        key=lambda one: (one["definition"] or {}).get("order_in_group") or 0,
    )
    groups = [(one["definition"] or {}).get("group") for one in validated["configs"]]
    for entry in entries:
        definition, value = entry["definition"], entry["value"]
        said = list(value["errors"]) if errors else []
        if definition is None:
            if said:
                unplaced[value["name"]] = said
            continue
        key = value["name"]
        defined.add(key)
        name = definition.get("group") or _UNGROUPED
        asked = listing if listing and listing.key == key else None
        one = _field(definition, value, written, said, key in listed, asked)
        found.setdefault(name, Group(name)).fields.append(one)
    ordered = [found[name or _UNGROUPED] for name in dict.fromkeys(groups) if (name or _UNGROUPED) in found]
    ordered.sort(key=lambda group: not group.first)  # what somebody has to fill in stands before what may be left
    undefined = sorted((key, value) for key, value in written.items() if key not in defined)
    odd = [_undefined(key, value, unplaced.pop(key, ())) for key, value in undefined if not _is_line(key, value)]
    if odd:
        ordered.append(Group(_OTHER_KEYS, odd))
    others = "".join(f"{key}={value}\n" for key, value in undefined if _is_line(key, value))
    return Form(ordered, others, unplaced)


def _is_shown(entry: Mapping[str, Any], written: Mapping[str, str]) -> bool:
    """Whether it matters, is wrong, or is a secret that must not stand in the clear among other keys."""
    definition, value = entry["definition"] or {}, entry["value"]
    secret = definition.get("type") == "PASSWORD" and value["name"] in written
    return value.get("visible", True) is not False or bool(value["errors"]) or secret


def _is_line(key: str, value: str) -> bool:
    """Whether a line `key=value` says the same."""
    plain = not any(char in key + value for char in "\n\r") and key == key.strip() and value == value.strip()
    return plain and bool(key) and "=" not in key and not key.startswith("#")


def _undefined(key: str, value: str, errors: Sequence[str]) -> Field:
    return Field(key, key, "STRING", False, False, "", value, not value.strip(), None, (), errors)


def _field(
    definition: Mapping[str, Any],
    value: Mapping[str, Any],
    written: Mapping[str, str],
    errors: Sequence[str],
    listed: bool,
    listing: Listing | None,
) -> Field:
    choices = list(value.get("recommended_values") or [])
    if definition["type"] == "BOOLEAN":
        choices = ["true", "false"]
    key = value["name"]
    text = written.get(key, "")
    return Field(
        key=key,
        label=definition.get("display_name") or key,
        kind=definition["type"],
        required=bool(definition["required"]),
        # What can be picked is seldom left at its default.
        important=definition["importance"] in (("HIGH", "MEDIUM") if listed else ("HIGH",)),
        doc=definition.get("documentation") or "",
        value=text,
        blank=key in written and not text.strip(),
        default=definition.get("default_value"),
        choices=choices,
        errors=errors,
        listed=listed,
        listing=listing,
    )


def written(sent: Mapping[str, Sequence[str]]) -> tuple[dict[str, str], str]:
    """The configuration of a submitted form, and what is wrong with the lines of other keys, a sentence.

    Empty fields are not written, but for those that were.
    """
    config = {}
    for name, values in sent.items():
        if name.startswith(PREFIX):
            key = name.removeprefix(PREFIX)
            value = _with_picked(values[-1], sent.get(f"{PICKED}{key}", ()))
            if value.strip() or f"{BLANK}{key}" in sent:
                config[key] = value
    problem = ""
    for line in (sent.get(OTHERS) or [""])[-1].split("\n"):  # a value may hold what other programs take for a line end
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        key, separator, value = line.partition("=")
        if separator and key.strip():
            config[key.strip()] = value.strip()
        else:
            problem = problem or f'"{line.strip()}" is not of the form key=value.'
    return config, problem


def _with_picked(value: str, picked: Sequence[str]) -> str:
    if not picked:
        return value
    there = comma_separated(value)
    return ",".join([*there, *(one for one in picked if one not in there)])
