"""Parsers of users' values for each type: they return the typed value, None for None, or raise ConfigError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from connect.errors import ConfigError
from connect.settings.raw import BLANKS


def boolean(name: str, raw: Any) -> bool | None:
    """One of the words true and false, case-insensitive."""
    if raw is None or isinstance(raw, bool):
        return raw
    word = str(raw).strip(BLANKS).lower()
    if word not in ("true", "false"):
        raise ConfigError(name, f'"{raw}" is not a boolean. Write true or false.')
    return word == "true"


def whole(bits: int) -> Callable[[str, Any], int | None]:
    """A parser of whole numbers of this many bits."""
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def parse(name: str, raw: Any) -> int | None:
        if raw is None:
            return None
        written = str(raw).strip(BLANKS)
        digits = written[1:] if written[:1] in ("-", "+") else written
        if isinstance(raw, bool) or not (digits.isascii() and digits.isdigit()):
            meant = _meant(written)
            proposal = f" Write {meant}." if meant is not None and low <= meant <= high else ""
            raise ConfigError(name, f'"{raw}" is not a whole number.{proposal}')
        digits = digits.lstrip("0")[:40] or "0"  # Python refuses to read thousands of them
        value = -int(digits) if written[0] == "-" else int(digits)
        if not low <= value <= high:
            raise ConfigError(name, f"{_short(written)} is out of range, which is {low} to {high}.")
        return value

    return parse


def _meant(written: str) -> int | None:
    """The whole number that people mean by 3k, 1_000 or 5.0."""
    plain = written.replace("_", "").replace(",", "").lower()
    factor = {"k": 1000, "m": 1_000_000}.get(plain[-1:], 1)
    try:
        number = float(plain[:-1] if factor > 1 else plain) * factor
        return int(number) if number == int(number) else None
    except (ValueError, OverflowError):
        return None


def _short(written: str) -> str:
    return written if len(written) <= 40 else f"{written[:40]}..."


def double(name: str, raw: Any) -> float | None:
    """A number."""
    if raw is None:
        return None
    try:
        if isinstance(raw, bool) or "_" in str(raw):  # Python would take them
            raise ValueError
        return float(raw)
    except (TypeError, ValueError):
        raise ConfigError(name, f'"{raw}" is not a number.') from None


def string(name: str, raw: Any) -> str | None:
    """A text without the blanks around it."""
    return None if raw is None else str(raw).strip(BLANKS)


def texts(name: str, raw: Any) -> list[str] | None:
    """Texts between commas."""
    if raw is None:
        return None
    if isinstance(raw, list | tuple):
        return [str(item) for item in raw]
    written = str(raw).strip(BLANKS)
    return [item.strip(" \t\n\v\f\r") for item in written.split(",")] if written else []
