"""Makes watched records fit to be shown: fields that patterns name are masked, long values are cut.

A converter's bytes have no fields. Bytes that are JSON are masked as JSON. Other text is shown unless it holds such a
name, as that of StringConverter may: `Struct{password=...}`. Of all others only the size is shown. Without patterns
everything is shown but the secrets of the configuration.
"""

from __future__ import annotations

import base64
import fnmatch
import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from connect.pipeline.outcome import SeenOutcome, SeenStep
from connect.pipeline.seen import Change, SeenHeader, SeenRecord
from connect.telemetry.redaction import MASK, redactor

#: The longest text, and the most entries of a list or object, that are shown.
_LONGEST: Final = 4_000
_ENTRIES: Final = 500


class FieldMasks:
    """Masks and cuts.

    Args:
        patterns: of names of fields and headers, such as `*password*`; `*` and `?` as in a shell, in any case.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        kept = [pattern.strip() for pattern in patterns if pattern.strip()]
        self._names = re.compile("|".join(map(fnmatch.translate, kept)), re.IGNORECASE) if kept else None
        self._mentions = re.compile("|".join(map(_within, kept)), re.IGNORECASE)

    def masked(self, seen: SeenOutcome) -> SeenOutcome:
        """The outcome as it may be shown."""
        after = None if seen.after is None else self._record(seen.after)
        return SeenOutcome(seen.verdict, self._record(seen.before), [self._step(step) for step in seen.steps], after)

    def _record(self, seen: SeenRecord) -> SeenRecord:
        headers = [SeenHeader(one.key, self._named(one.key, one.value), one.schema) for one in seen.headers]
        return msgspec.structs.replace(seen, key=self._value(seen.key), value=self._value(seen.value), headers=headers)

    def _step(self, step: SeenStep) -> SeenStep:
        return msgspec.structs.replace(step, changes=[self._change(change) for change in step.changes])

    def _change(self, change: Change) -> Change:
        secret = any(self._is_secret(name) for name in re.split(r"[.\[\]]", change.path))
        before, after = (
            value if value is msgspec.UNSET else MASK if secret else self._value(value)
            for value in (change.before, change.after)
        )
        return msgspec.structs.replace(change, before=before, after=after)

    def _is_secret(self, name: str) -> bool:
        return self._names is not None and self._names.match(name) is not None

    def _named(self, name: str, value: Any) -> Any:
        return MASK if value is not None and self._is_secret(name) else self._value(value)

    def _value(self, value: Any) -> Any:
        match value:
            case str():
                return _cut(redactor.redact(value))
            case {"text": str(text)} if len(value) == 1:
                return self._text(text)
            case {"base64": str(data)} if len(value) == 1 and (self._names is not None or len(data) > _LONGEST):
                return {"bytes": len(base64.b64decode(data))}
            case dict():
                kept = list(value.items())[:_ENTRIES]
                found = {name: self._named(name, one) for name, one in kept}
                return found if len(value) <= _ENTRIES else {**found, "…": f"{len(value) - _ENTRIES} more fields"}
            case list():
                shown = [self._value(one) for one in value[:_ENTRIES]]
                return shown if len(value) <= _ENTRIES else [*shown, f"… {len(value) - _ENTRIES} more"]
        return value

    def _text(self, text: str) -> dict[str, Any]:
        if self._names is None:
            return {"text": _cut(redactor.hide(text))}
        try:
            parsed = msgspec.json.decode(text)
        except msgspec.DecodeError:
            parsed = None
        if isinstance(parsed, dict | list):
            masked = self._value(parsed)
            return {"text": _cut(text if masked == parsed else msgspec.json.encode(masked).decode())}
        if self._mentions.search(text):
            return {"bytes": len(text.encode())}
        return {"text": _cut(redactor.redact(text))}


def _within(pattern: str) -> str:
    """A regular expression for a text that holds such a name."""
    parts = {"*": ".{0,50}", "?": "."}
    return "".join(parts.get(letter, re.escape(letter)) for letter in pattern.strip("*"))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"
