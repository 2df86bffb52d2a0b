"""One setting of librdkafka, and the form of its values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Value = str | int | float | bool


@dataclass(frozen=True)
class Property:
    """A row of librdkafka's list. `kind` is its word for the type, `range` the smallest and largest number."""

    scope: Literal["any", "producer", "consumer"]
    kind: str
    range: tuple[float, float] | None = None
    choices: tuple[str, ...] = ()
    alias_of: str = ""

    def parse(self, text: str) -> tuple[Value, str]:
        """The value of `text`, and a note if it had to be brought into the range.

        Raises:
            ValueError: it is no such value; the message says what would be.
        """
        match self.kind:
            case "boolean":
                if text.lower() not in {"true", "false"}:
                    raise ValueError("write true or false")
                return text.lower() == "true", ""
            case "integer" | "float":
                return self._number(text)
            case "enum value":
                choice = next((choice for choice in self.choices if choice.lower() == text.lower()), None)
                if choice is None:
                    raise ValueError(f"write one of {', '.join(self.choices)}")
                return choice, ""
        return text, ""

    def _number(self, text: str) -> tuple[Value, str]:
        try:
            number = int(text) if self.kind == "integer" else float(text)
        except ValueError:
            raise ValueError("write a whole number" if self.kind == "integer" else "write a number") from None
        if self.range is None:
            return number, ""
        low, high = self.range
        limited = type(number)(min(max(number, low), high))
        return limited, "" if limited == number else f"librdkafka takes {low} to {high}; {limited} is used"
