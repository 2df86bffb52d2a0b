"""A dead letter as it is shown: its bytes, its own headers, and what the error headers say."""

from __future__ import annotations

import base64
import hashlib
from typing import Any, Final

import msgspec

from connect.kafka.reading.read_range import StoredRecord
from connect.pipeline.error_headers import ErrorContext
from connect.telemetry.fingerprints import general
from connect.telemetry.redaction import redactor

#: Bytes of a payload in a list of letters.
PREVIEW: Final = 1024


class Bytes(msgspec.Struct, omit_defaults=True):
    """Bytes for display: `text` where they are UTF-8, else `base64`. `cut`: only the beginning is shown."""

    size: int
    text: str | None = None
    base64: str | None = None
    cut: bool = False

    @classmethod
    def of(cls, data: bytes | None, most: int | None = None) -> Bytes | None:
        """None is null."""
        if data is None:
            return None
        cut = most is not None and len(data) > most
        part = data[:most] if cut else data
        try:
            return cls(len(data), text=part.decode(), cut=cut)
        except UnicodeDecodeError as error:
            # A cut may go through a character.
            if cut and error.reason == "unexpected end of data":
                return cls(len(data), text=part[: error.start].decode(), cut=True)
            return cls(len(data), base64=base64.b64encode(part).decode(), cut=cut)

    def data(self) -> bytes:
        """The bytes, as far as they are shown."""
        return self.text.encode() if self.text is not None else base64.b64decode(self.base64 or "")


class LetterHeader(msgspec.Struct):
    """A header that the record had when it was consumed."""

    key: str
    value: Bytes | None


class LetterError(msgspec.Struct):
    """The error that a dead letter's headers describe: see `connect.pipeline.error_headers.ErrorContext`.

    `fingerprint` is the same for errors that differ only in numbers and quoted values.
    """

    connector: str
    task: int
    stage: str
    class_name: str
    exception: str
    message: str | None
    stacktrace: str | None
    topic: str | None
    partition: int | None
    offset: int | None
    source_partition: dict[str, Any] | None
    source_offset: dict[str, Any] | None
    omitted: str | None
    fingerprint: str

    @classmethod
    def of(cls, context: ErrorContext, *, whole: bool) -> LetterError:
        """Without secrets; the stack trace only for a single record."""
        message = None if context.message is None else redactor.redact(context.message)
        if message is not None and not whole:
            message = message[:PREVIEW]
        trace = redactor.redact(context.stacktrace) if whole and context.stacktrace is not None else None
        return cls(
            context.connector,
            context.task,
            context.stage,
            context.class_name,
            context.exception,
            message,
            trace,
            context.topic,
            context.partition,
            context.offset,
            None if context.source_partition is None else dict(context.source_partition),
            None if context.source_offset is None else dict(context.source_offset),
            context.omitted,
            fingerprint(context),
        )


class DeadLetterView(msgspec.Struct):
    """A dead letter. `error` is None where the connector writes no error headers."""

    partition: int
    offset: int
    timestamp: int | None
    key: Bytes | None
    value: Bytes | None
    headers: list[LetterHeader]
    error: LetterError | None

    @classmethod
    def of(cls, lying: StoredRecord, *, whole: bool) -> DeadLetterView:
        """With all bytes, or with previews."""
        own, context = ErrorContext.split(lying.headers)
        most = None if whole else PREVIEW
        return cls(
            lying.partition,
            lying.offset,
            lying.timestamp,
            Bytes.of(lying.key, most),
            Bytes.of(lying.value, most),
            [LetterHeader(key, Bytes.of(value, most)) for key, value in (own if whole else own[:50])],
            None if context is None else LetterError.of(context, whole=whole),
        )


def fingerprint(context: ErrorContext) -> str:
    """The key of a kind of error: the beginning of its words without numbers and quoted values."""
    # Cut after what varies is gone, too: before it, the cut falls elsewhere in each message.
    said = general((context.message or "")[: 4 * PREVIEW])[:PREVIEW]
    text = f"{context.stage}\0{context.class_name}\0{context.exception}\0{said}"
    return hashlib.sha256(text.encode()).hexdigest()[:12]
