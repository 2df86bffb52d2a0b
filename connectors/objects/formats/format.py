"""What a format of objects is: it encodes batches, and writes the result to files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from connect import SinkBatch, Values
from connect.data.column import Column

#: Takes the next bytes of a file.
Sink = Callable[[bytes], Any]


@dataclass(slots=True)
class Payload:
    """Some rows in the form that a format's `Writer` takes.

    Attributes:
        rows: how many.
        size: about how many bytes of memory they use.
    """

    content: Any
    rows: int
    size: int


class Encoded(ABC):
    """The rows of a batch as files will contain them; `pick` chooses those of one file.

    Attributes:
        schemas: for each row the schema to open its file with: rows of two schemas never share a file.
    """

    schemas: Column[Any]

    @abstractmethod
    def pick(self, rows: Sequence[int]) -> Payload:
        """These rows, in this order. They have one schema."""


class Writer(ABC):
    """Writes one file. Created, called and finished in the writer's thread; several may be open."""

    @abstractmethod
    def write(self, payload: Payload) -> None:
        """Append rows. Their bytes may reach the sink now or later."""

    @abstractmethod
    def finish(self) -> None:
        """Write what is left. Called once, at the end; a file that is given up is never finished."""

    @property
    def held(self) -> int:
        """About how many bytes of memory it uses: for unwritten rows, and for its own work."""
        return 0

    def release(self, *, hard: bool) -> None:  # noqa: B027  most hold nothing to release
        """Write out what can be written without changing the file's content for readers: memory is short.

        Args:
            hard: also write what makes the file larger.
        """


class Format(ABC):
    """A format with its options.

    Attributes:
        extension: of the names of objects, with its dot.
        content_type: MIME type of objects.
        by_schema: whether a file holds records of one schema only.
    """

    extension: str
    content_type: str = "application/octet-stream"
    by_schema: ClassVar[bool] = False

    @abstractmethod
    def encode(self, batch: SinkBatch, values: Values) -> Encoded:
        """Encode values. Has no side effects.

        Args:
            batch: the records.
            values: what to write of each: its value, or its key.

        Raises:
            DataError: some row cannot be encoded; the task finds out which.
        """

    @abstractmethod
    def writer(self, schema: Any, sink: Sink) -> Writer:
        """Open a file.

        Args:
            schema: one of `Encoded.schemas`.
            sink: takes the file's bytes.
        """
