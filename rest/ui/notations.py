"""A configuration as a user writes it on a page: in the fields of a form, as JSON, or as a properties file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from connect.settings import properties
from rest.ui import forms

#: The fields that say how the configuration is written, and its text where that is no form.
NOTATION: Final = "as"
TEXT: Final = "text"
FORM: Final = "form"
#: What can be in the first, and what people call it.
NOTATIONS: Final = {FORM: "Form", "json": "JSON", "properties": "Properties"}


@dataclass(frozen=True, slots=True)
class Written:
    """What a user wrote.

    Attributes:
        notation: of `NOTATIONS`.
        config: as far as it can be read.
        text: as it stands there; of a form the lines of other keys. None where it follows from the configuration.
        problem: why some of it cannot be read, a sentence; else empty.
    """

    notation: str
    config: Mapping[str, str]
    text: str | None = None
    problem: str = ""

    def turned(self, notation: str) -> Written:
        """The same in another notation; as it is where it cannot be read."""
        return self if self.problem or notation not in NOTATIONS else Written(notation, self.config)

    @property
    def shown(self) -> str:
        """The text to show, for JSON and properties."""
        if self.text is not None:
            return self.text
        if self.notation == "json":
            return json.dumps(dict(self.config), indent=2, sort_keys=True, ensure_ascii=False)
        return properties.dumps(dict(sorted(self.config.items())))


def written(sent: Mapping[str, Sequence[str]]) -> Written:
    """What the fields of a submitted form say."""
    notation = _last(sent, NOTATION)
    if notation not in NOTATIONS or notation == FORM:
        config, problem = forms.written(sent)
        return Written(FORM, config, _last(sent, forms.OTHERS) if problem else None, problem)
    text = _last(sent, TEXT)
    try:
        return Written(notation, _json(text) if notation == "json" else _properties(text), text)
    except ValueError as error:
        return Written(notation, {}, text, str(error))


def config_of(sent: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The configuration alone. Raises ValueError: why some of it cannot be read."""
    found = written(sent)
    if found.problem:
        raise ValueError(found.problem)
    return dict(found.config)


def _last(sent: Mapping[str, Sequence[str]], name: str) -> str:
    return sent[name][-1] if sent.get(name) else ""


def _properties(text: str) -> dict[str, str]:
    found = properties.loads(text, "This is not a properties file: line")
    for key, places in found.duplicates.items():
        raise ValueError(f'"{key}" is written twice, in lines {" and ".join(str(place.line) for place in places)}.')
    return dict(found)


def _json(text: str) -> dict[str, str]:
    """The keys of an object, or of the one under its `config`, as in the body of POST /connectors."""
    try:
        # A number is the text that the user wrote: 1.50 must not become 1.5.
        found = json.loads(
            text, parse_int=str, parse_float=str, parse_constant=_no_number, object_pairs_hook=_without_duplicates
        )
    except json.JSONDecodeError as error:
        raise ValueError(f"This is not JSON: {error.msg} (line {error.lineno}, column {error.colno}).") from None
    except RecursionError:
        raise ValueError("This is not JSON: it is nested too deeply.") from None
    if isinstance(found, dict) and isinstance(found.get("config"), dict):
        found = {"name": found.get("name"), **found["config"]}
    if not isinstance(found, dict):
        raise ValueError('This is no configuration. Write an object of keys and values: {"name": "orders", ...}.')
    return {key: _text(key, value) for key, value in found.items() if value is not None}


def _text(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        if any("\ud800" <= char <= "\udfff" for char in key + value):
            raise ValueError("This is not text: one of its \\u is half a character (a lone surrogate).")
        return value
    raise ValueError(f'The value of "{key}" is not text. Write lists as one text: "a,b".')


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f'"{next(key for key in keys if keys.count(key) > 1)}" is written twice.')
    return found


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"This is not JSON: {word} is not a number.")
