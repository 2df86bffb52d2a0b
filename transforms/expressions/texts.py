"""Functions over strings, regular expressions, bytes, lists and JSON. Characters are counted from 1."""

from __future__ import annotations

import base64
import fnmatch
import hashlib
import re
from functools import lru_cache
from typing import Any, Final

import orjson

from connect import DataError
from transforms.expressions.kinds import ANY, Kind, kind_of
from transforms.expressions.registry import ANYTHING, INTEGER, TEXT, function

_MOST_CHARACTERS: Final = 16 << 20
_BYTES: Final = (Kind.BYTES,)
_TEXT_OR_BYTES: Final = (Kind.TEXT, Kind.BYTES)


def as_text(value: Any) -> str:
    """A value as CAST(... AS varchar) writes it: numbers plainly, dates and times in ISO 8601, lists and objects as
    JSON.
    """
    from transforms.expressions.moments import written

    kind = kind_of(value)
    if kind is Kind.TEXT:
        return str(value)
    if kind is Kind.BOOLEAN:
        return "true" if value else "false"
    if kind in (Kind.DATE, Kind.TIME, Kind.TIMESTAMP):
        return written(value)
    if kind is Kind.DECIMAL:
        return format(value, "f")
    if kind is Kind.DOUBLE:
        return repr(value) if value - value == 0 else {"nan": "NaN", "inf": "Infinity"}.get(repr(value), "-Infinity")
    if kind is Kind.BYTES:
        raise DataError("bytes are not a string. Write decode(x) for UTF-8, to_base64(x) or to_hex(x).")
    return as_json(value) if kind in (Kind.LIST, Kind.OBJECT) else str(value)


def as_json(value: Any) -> str:
    """A value as JSON; bytes in base64, decimals as numbers."""
    try:
        return orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_UTC_Z).decode()
    except TypeError as error:
        raise DataError(f"the value cannot be written as JSON: {error}.") from None


def _plain(value: Any) -> Any:
    if kind_of(value) is Kind.DECIMAL:
        return orjson.Fragment(as_text(value)) if value.is_finite() else None  # a double would lose digits
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    raise TypeError(f"a value of type {type(value).__name__}")


function("upper", takes=[TEXT], gives=Kind.TEXT)(str.upper)
function("lower", takes=[TEXT], gives=Kind.TEXT)(str.lower)
function("initcap", takes=[TEXT], gives=Kind.TEXT)(
    lambda text: re.sub(r"[^\W_]+", lambda word: word[0][:1].upper() + word[0][1:].lower(), text)
)
function("length", "char_length", "character_length", takes=[_TEXT_OR_BYTES], gives=Kind.INTEGER)(len)
function("octet_length", takes=[_TEXT_OR_BYTES], gives=Kind.INTEGER)(
    lambda value: len(value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value)
)
function("trim", "btrim", takes=[TEXT, TEXT], gives=Kind.TEXT, least=1)(lambda text, chars=" ": text.strip(chars))
function("ltrim", takes=[TEXT, TEXT], gives=Kind.TEXT, least=1)(lambda text, chars=" ": text.lstrip(chars))
function("rtrim", takes=[TEXT, TEXT], gives=Kind.TEXT, least=1)(lambda text, chars=" ": text.rstrip(chars))
function("replace", takes=[TEXT, TEXT, TEXT], gives=Kind.TEXT)(
    lambda text, old, new: text.replace(old, new) if old else text
)
function("reverse", takes=[TEXT], gives=Kind.TEXT)(lambda text: text[::-1])
function("starts_with", takes=[TEXT, TEXT], gives=Kind.BOOLEAN)(str.startswith)
function("ends_with", takes=[TEXT, TEXT], gives=Kind.BOOLEAN)(str.endswith)
function("contains", takes=[TEXT, TEXT], gives=Kind.BOOLEAN)(lambda text, part: part in text)
function("strpos", "instr", takes=[TEXT, TEXT], gives=Kind.INTEGER)(lambda text, part: text.find(part) + 1)
function("||", takes=[ANYTHING, ANYTHING], gives=Kind.TEXT)(lambda a, b: as_text(a) + as_text(b))
function("concat", takes=[ANYTHING], gives=Kind.TEXT, least=1, many=True, nulls=True)(
    lambda *parts: "".join(as_text(part) for part in parts if part is not None)
)


@function("concat_ws", takes=[TEXT, ANYTHING], gives=Kind.TEXT, least=2, many=True, nulls=True)
def _concat_ws(separator: str | None, *parts: Any) -> str | None:
    return None if separator is None else separator.join(as_text(part) for part in parts if part is not None)


@function("substring", "substr", takes=[TEXT, INTEGER, INTEGER], gives=Kind.TEXT, least=2)
def _substring(text: str, start: int, length: int | None = None) -> str:
    if length is None:
        return text[max(start - 1, 0) :]
    if length < 0:
        raise DataError("the length for substring must not be negative.")
    return text[max(start - 1, 0) : max(start - 1 + length, 0)]


@function("left", takes=[TEXT, INTEGER], gives=Kind.TEXT)
def _left(text: str, count: int) -> str:
    return text[:count]


@function("right", takes=[TEXT, INTEGER], gives=Kind.TEXT)
def _right(text: str, count: int) -> str:
    return text[-count:] if count else ""


@function("repeat", takes=[TEXT, INTEGER], gives=Kind.TEXT)
def _repeat(text: str, count: int) -> str:
    _bounded(len(text) * max(count, 0))
    return text * max(count, 0)


def _padded(text: str, length: int, fill: str, *, left: bool) -> str:
    _bounded(length)
    missing = length - len(text)
    if missing <= 0 or not fill:
        return text[: max(length, 0)]
    padding = (fill * (missing // len(fill) + 1))[:missing]
    return padding + text if left else text + padding


function("lpad", takes=[TEXT, INTEGER, TEXT], gives=Kind.TEXT, least=2)(
    lambda text, length, fill=" ": _padded(text, length, fill, left=True)
)
function("rpad", takes=[TEXT, INTEGER, TEXT], gives=Kind.TEXT, least=2)(
    lambda text, length, fill=" ": _padded(text, length, fill, left=False)
)


def _bounded(length: int) -> None:
    if length > _MOST_CHARACTERS:
        raise DataError(f"a string of {length} characters is too long; the maximum is {_MOST_CHARACTERS}.")


@function("split_part", takes=[TEXT, TEXT, INTEGER], gives=Kind.TEXT, example=("", ",", 1))
def _split_part(text: str, separator: str, place: int) -> str:
    if place == 0 or not separator:
        raise DataError("split_part counts parts from 1 (from the end: -1), between non-empty separators.")
    parts = text.split(separator)
    at = place - 1 if place > 0 else len(parts) + place
    return parts[at] if 0 <= at < len(parts) else ""


# Patterns.


@lru_cache(maxsize=256)
def _like(pattern: str, escape: str, flags: int) -> re.Pattern[str]:
    if len(escape) > 1:
        raise DataError("ESCAPE must be one character.")
    # As a glob pattern, which Python translates to a regex that takes linear time for each star.
    parts, characters = [], iter(pattern)
    for character in characters:
        if escape and character == escape:
            following = next(characters, None)
            if following is None:
                raise DataError(f'the pattern "{pattern}" ends with its escape character.')
            parts.append(_as_itself(following))
        else:
            parts.append({"%": "*", "_": "?"}.get(character) or _as_itself(character))
    return re.compile(fnmatch.translate("".join(parts)), flags)


def _as_itself(character: str) -> str:
    return f"[{character}]" if character in "*?[" else character


function("like", takes=[TEXT, TEXT, TEXT], gives=Kind.BOOLEAN, least=2)(
    lambda text, pattern, escape="\\": _like(pattern, escape, 0).fullmatch(text) is not None
)
function("ilike", takes=[TEXT, TEXT, TEXT], gives=Kind.BOOLEAN, least=2)(
    lambda text, pattern, escape="\\": _like(pattern, escape, re.IGNORECASE).fullmatch(text) is not None
)


@lru_cache(maxsize=256)
def _regexp(pattern: str, flags: str = "") -> re.Pattern[str]:
    known = {"i": re.IGNORECASE, "s": re.DOTALL, "m": re.MULTILINE}
    chosen = 0
    for flag in flags.replace("g", ""):
        if flag not in known:
            raise DataError(f'"{flag}" is not a flag of regular expressions. Write i, m, s, or g in regexp_replace.')
        chosen |= known[flag]
    try:
        return re.compile(pattern, chosen)
    except re.error as error:
        raise DataError(f'"{pattern}" is not a regular expression: {error}.') from None


function("regexp_like", "regexp_matches", takes=[TEXT, TEXT, TEXT], gives=Kind.BOOLEAN, least=2, example=("", "", ""))(
    lambda text, pattern, flags="": _regexp(pattern, flags).search(text) is not None
)
function("regexp_ilike", takes=[TEXT, TEXT], gives=Kind.BOOLEAN, example=("", ""))(
    lambda text, pattern: _regexp(pattern, "i").search(text) is not None
)


@function("regexp_replace", takes=[TEXT, TEXT, TEXT, TEXT], gives=Kind.TEXT, least=3, example=("", None, "", ""))
def _regexp_replace(text: str, pattern: str, replacement: str, flags: str = "g") -> str:
    try:
        return _regexp(pattern, flags).sub(replacement, text, count=0 if "g" in flags else 1)
    except (re.error, IndexError) as error:
        raise DataError(f'"{replacement}" is not a replacement for "{pattern}": {error}.') from None


@function(
    "regexp_extract", "regexp_substr", takes=[TEXT, TEXT, INTEGER], gives=Kind.TEXT, least=2, example=("", None, 0)
)
def _regexp_extract(text: str, pattern: str, group: int = 0) -> str | None:
    compiled = _regexp(pattern)
    if not 0 <= group <= compiled.groups:
        raise DataError(f'"{pattern}" has no group {group}. It has {compiled.groups}.')
    match = compiled.search(text)
    return None if match is None else match[group]


# Bytes.


def _encoded(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode("utf-8", "replace")


@function("decode", takes=[_BYTES], gives=Kind.TEXT)
def _decode(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise DataError(f"these bytes are not UTF-8: {error.reason} at {error.start}.") from None


@function("from_base64", takes=[TEXT], gives=Kind.BYTES)
def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise DataError(f"the string is not base64: {error}.") from None


function("encode", takes=[TEXT], gives=Kind.BYTES)(_encoded)
function("to_base64", takes=[_TEXT_OR_BYTES], gives=Kind.TEXT)(lambda value: base64.b64encode(_encoded(value)).decode())
function("to_hex", takes=[_TEXT_OR_BYTES], gives=Kind.TEXT)(lambda value: _encoded(value).hex())
function("md5", takes=[_TEXT_OR_BYTES], gives=Kind.TEXT)(
    lambda value: hashlib.md5(_encoded(value), usedforsecurity=False).hexdigest()
)
function("sha256", takes=[_TEXT_OR_BYTES], gives=Kind.TEXT)(lambda value: hashlib.sha256(_encoded(value)).hexdigest())


# Lists and JSON.

function("cardinality", "array_length", takes=[(Kind.LIST, Kind.OBJECT)], gives=Kind.INTEGER)(len)
function("array_contains", takes=[(Kind.LIST,), ANYTHING], gives=Kind.BOOLEAN)(lambda items, value: value in items)


@function("array_to_string", "array_join", takes=[(Kind.LIST,), TEXT], gives=Kind.TEXT)
def _array_to_string(items: list[Any], separator: str) -> str:
    return separator.join(as_text(item) for item in items if item is not None)


function("to_json", takes=[ANYTHING], gives=Kind.TEXT)(as_json)
_JSON: Final = (Kind.TEXT, Kind.OBJECT, Kind.LIST)


@function(
    "json_value", "json_extract_scalar", "get_json_object", takes=[_JSON, TEXT], gives=Kind.TEXT, example=("{}", "$")
)
def _json_value(document: Any, path: str) -> str | None:
    """The value at the path as a string; an object or a list as JSON."""
    found = _at(_parsed(document), path)
    return None if found is None else found if isinstance(found, str) else as_text(found)


@function("json_query", "json_extract", takes=[_JSON, TEXT], gives=Kind.TEXT, example=("{}", "$"))
def _json_query(document: Any, path: str) -> str | None:
    """The value at the path as JSON; a string keeps its quotation marks."""
    found = _at(_parsed(document), path)
    return None if found is None else as_json(found)


@function("parse_json", takes=[TEXT], gives=lambda _: ANY)
def _parse_json(document: str) -> Any:
    return _parsed(document)


def _parsed(document: Any) -> Any:
    if not isinstance(document, str):
        return document
    try:
        return orjson.loads(document)
    except (ValueError, UnicodeEncodeError) as error:
        raise DataError(f"the string is not JSON: {error}.") from None


def _at(node: Any, path: str) -> Any:
    for step in _steps(path):
        if isinstance(step, str) and isinstance(node, dict):
            node = node.get(step)
        elif isinstance(step, int) and isinstance(node, list):
            node = node[step] if -len(node) <= step < len(node) else None
        else:
            return None
    return node


_STEP: Final = re.compile(r"""\.([\w$-]+)|\."((?:[^"\\]|\\.)*)"|\[(-?\d+)\]|\['((?:[^'\\]|\\.)*)'\]""")


@lru_cache(maxsize=256)
def _steps(path: str) -> tuple[str | int, ...]:
    at, steps = 1, []
    while path.startswith("$") and at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            break
        name, quoted, index, bracket = match.groups()
        escaped = quoted if quoted is not None else bracket
        steps.append(int(index) if index else name if name is not None else re.sub(r"\\(.)", r"\1", escaped))
        at = match.end()
    if not path.startswith("$") or at < len(path):
        raise DataError(f'"{path}" is not a path. Write $.name, $."a name", $[0], or several of them in a row.')
    return tuple(steps)
