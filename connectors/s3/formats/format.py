"""What a format of objects is: it encodes batches, and writes what it encoded into files."""

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
    """Some rows as a format's `Writer` takes them.

    Attributes:
        rows: how many.
        size: about how many bytes of memory they take.
    """

    content: Any
    rows: int
    size: int


class Encoded(ABC):
    """The rows of a batch as they will stand in files; `pick` chooses those of one file.

    Attributes:
        schemas: what a file has to be opened for so that it can take the row: rows of two of them never share one.
    """

    schemas: Column[Any]

    @abstractmethod
    def pick(self, rows: Sequence[int]) -> Payload:
        """These rows, in this order. They have one schema."""


class Writer(ABC):
    """Writes one file. Made, called and finished in the thread that writes; several may be open."""

    @abstractmethod
    def write(self, payload: Payload) -> None:
        """Append rows. Their bytes may come out of the sink now or later."""

    @abstractmethod
    def finish(self) -> None:
        """Write what is left. Called once, at the end; a file that is given up is never finished."""

    @property
    def held(self) -> int:
        """About how many bytes of memory it takes: what has not come out yet, and what it works with."""
        return 0

    def release(self, *, hard: bool) -> None:  # noqa: B027  most hold nothing that they could let out
        """Let out what can come out without the file becoming another one for its readers: memory is short.

        Args:
            hard: also what makes the file larger.
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
        """Encode values. Changes nothing.

        Args:
            batch: the records.
            values: what is to be written of them, a row each: their values, or their keys.

        Raises:
            DataError: for some row; the task finds out which.
        """

    @abstractmethod
    def writer(self, schema: Any, sink: Sink) -> Writer:
        """Open a file.

        Args:
            schema: one of `Encoded.schemas`.
            sink: takes the file's bytes.
        """
