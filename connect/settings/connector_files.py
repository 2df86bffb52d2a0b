"""Connector files of standalone mode, with the line of every key: .properties, or JSON in three forms.

    {"name": "orders", "topics": "a"}                                           the settings alone
    {"name": "orders", "config": {"topics": "a"}, "initial_state": "PAUSED"}    the body of POST /connectors
    {"name": "orders", "config": {"topics": "a"}, "tasks": [], "type": "sink"}  the response of GET /connectors/orders

As in Kafka the content decides, not the ending of the file's name, and unknown fields beside "config" are tolerated.
Only YAML is refused by its ending: much of it would pass for properties, with quotation marks and brackets as values.
Where Kafka says only that "name" is missing, the error here says what is wrong with the JSON. Text after the first JSON
object is refused; Kafka ignores it. A key with the value null is not set.

https://cwiki.apache.org/confluence/display/KAFKA/KIP-980
"""

from __future__ import annotations

import json
import os
import re
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Literal, NoReturn, get_args

from connect.settings.properties import ConfigFileError, Position, loads, read_bytes

InitialState = Literal["RUNNING", "PAUSED", "STOPPED"]

_BLANKS = re.compile(r"[ \t\n\r]*")


class ConnectorFileError(ConfigFileError):
    """A connector file cannot be used."""


@dataclass(frozen=True)
class ConnectorFile:
    """The connector that one file describes.

    `config` holds `name` too. All its values are strings, as in Kafka Connect: 3 is "3", true "true", 1.50 "1.50".
    """

    name: str
    config: dict[str, str] = field(repr=False)  # it may hold secrets
    initial_state: InitialState | None
    path: str
    duplicates: dict[str, list[Position]] = field(repr=False)
    _lines: dict[str, int] = field(repr=False)

    def where(self, key: str) -> Position:
        """The line of a key; of a key that the file does not have, the line of the name, where it could be added."""
        return Position(self.path, self._lines.get(key, self._lines["name"]))


def load_connector(path: str | os.PathLike[str], data: bytes | None = None) -> ConnectorFile:
    """Read a connector file.

    Args:
        path: of the file.
        data: its content, if known.

    Raises:
        ConfigFileError: the file cannot be read, is broken, or names no connector.
    """
    name = os.fspath(path)
    if data is None:
        data = read_bytes(path, ConnectorFileError)
    if name.endswith((".yaml", ".yml")):
        known = "connect plan, apply, validate, try, test and bench"
        raise ConnectorFileError(f"{name}: this is YAML, which {known} read; write the connector as properties or JSON")
    encoding = json.detect_encoding(data)
    opening = data.decode(encoding, "replace").lstrip()[:1]
    if opening != "{" and not (name.endswith(".json") and opening in {"[", '"', "/"}):
        return _from_properties(data, name)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise ConnectorFileError(f"{name}:{line}: this is not {encoding.upper()}; save the file as UTF-8") from None
    return _Json(text, name).connector()


def _from_properties(data: bytes, path: str) -> ConnectorFile:
    properties = loads(data, path)
    if not properties.get("name"):
        if "bootstrap.servers" in properties:
            raise ConnectorFileError(f"{path}: this is a worker's file, not a connector's; name connectors' files")
        line = f":{properties.where('name').line}" if "name" in properties else ""
        raise ConnectorFileError(f'{path}{line}: the connector has no name; add a line "name=..."')
    lines = {key: properties.where(key).line for key in properties}
    return ConnectorFile(properties["name"], dict(properties), None, path, properties.duplicates, lines)


@dataclass(frozen=True)
class _Member:
    """One `"key": value` of a JSON object. `source` is the value as written, `start` where it stands."""

    key: str
    key_start: int
    value: object
    source: str
    start: int


class _Json:
    """One JSON text. The standard library's decoder reads it, one member at a time, so that each position is known."""

    def __init__(self, text: str, path: str) -> None:
        self._text = text
        self._path = path
        self._ends = [match.start() for match in re.finditer("\n", text)]
        # A number is the text that the user wrote: 1.50 must not become 1.5.
        self._decoder = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refuse_constant)

    def connector(self) -> ConnectorFile:
        start = self._skip(0)
        if self._text[start : start + 1] != "{":
            self._fail(start, 'a connector is a JSON object; write {"name": ..., "connector.class": ..., ...}')
        members = self._object(start)
        top = {member.key: member for member in members}
        # As in Kafka, an object under "config" makes it a request. Text there is a setting called "config".
        if isinstance(top["config"].value if "config" in top else None, dict):
            return self._request(top)
        return self._connector(members, None)

    def _request(self, top: dict[str, _Member]) -> ConnectorFile:
        members = self._object(top["config"].start)
        inner = next((member for member in reversed(members) if member.key == "name"), None)
        outer = top.get("name")
        if outer is None:
            self._fail(0, 'the connector has no name; add "name": "..." beside "config"')
        if inner is None:
            members.append(outer)
        elif self._string(inner) != self._string(outer):
            self._fail(inner.key_start, 'the "name" in "config" differs from the one beside it; leave one of them out')
        return self._connector(members, self._initial_state(top.get("initial_state")))

    def _connector(self, members: list[_Member], initial_state: InitialState | None) -> ConnectorFile:
        config: dict[str, str] = {}
        places: dict[str, list[Position]] = {}
        for member in members:
            value = self._string(member)
            places.setdefault(member.key, []).append(Position(self._path, self._line(member.key_start)))
            config.pop(member.key, None)
            if value is not None:
                config[member.key] = value
        if not config.get("name"):
            line = places["name"][-1].line if "name" in places else 1
            raise ConnectorFileError(f'{self._path}:{line}: the connector has no name; add "name": "..."')
        duplicates = {key: found for key, found in places.items() if len(found) > 1}
        lines = {key: found[-1].line for key, found in places.items()}
        return ConnectorFile(config["name"], config, initial_state, self._path, duplicates, lines)

    def _initial_state(self, member: _Member | None) -> InitialState | None:
        if member is None or member.value is None:
            return None
        for state in get_args(InitialState):
            if isinstance(member.value, str) and member.value.upper() == state:
                return state  # type: ignore[no-any-return]
        return self._fail(member.start, '"initial_state" is RUNNING, PAUSED or STOPPED')

    def _string(self, member: _Member) -> str | None:
        """The value as text, as Kafka's JSON library makes it; None for null."""
        match member.value:
            case None:
                return None
            case str(text):
                if any("\ud800" <= char <= "\udfff" for char in text):
                    self._fail(member.start, f'the value of "{member.key}" has half of a surrogate pair; write both')
                return text
            case dict() | list():
                self._fail(member.start, f'the value of "{member.key}" must be text; put it between quotation marks')
        return member.source

    def _object(self, start: int) -> list[_Member]:
        """The members of the object that begins at `start`, which has to be the whole text if it begins it."""
        members = []
        position = self._skip(start + 1)
        if self._text[position : position + 1] != "}":
            while True:
                key_start = position
                key, position = self._value(position)
                if not isinstance(key, str) or self._text[key_start] != '"':
                    self._fail(key_start, "a key must be text between quotation marks")
                position = self._skip(self._expect(":", self._skip(position)))
                value, end = self._value(position)
                members.append(_Member(key, key_start, value, self._text[position:end], position))
                position = self._skip(end)
                if self._text[position : position + 1] == "}":
                    break
                position = self._skip(self._expect(",", position))
        if start == self._skip(0) and (rest := self._skip(position + 1)) < len(self._text):
            self._fail(rest, "something follows the JSON object; one file is one connector, so move it to its own file")
        return members

    def _value(self, position: int) -> tuple[object, int]:
        try:
            return self._decoder.raw_decode(self._text, position)
        except json.JSONDecodeError as problem:
            self._fail(problem.pos, f"this is not JSON ({problem.msg}); correct it here or in the line before")
        except ValueError as problem:
            self._fail(position, f"this is not JSON ({problem}); put it between quotation marks")
        except RecursionError:
            self._fail(position, "a value is nested too deeply; a setting is text between quotation marks")

    def _expect(self, char: str, position: int) -> int:
        if self._text[position : position + 1] != char:
            self._fail(position, f'this is not JSON ("{char}" is missing); correct it here or in the line before')
        return position + 1

    def _skip(self, position: int) -> int:
        match = _BLANKS.match(self._text, position)
        return match.end() if match else position

    def _line(self, position: int) -> int:
        return bisect_left(self._ends, position) + 1

    def _fail(self, position: int, problem: str) -> NoReturn:
        raise ConnectorFileError(f"{self._path}:{self._line(position)}: {problem}")


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number")
