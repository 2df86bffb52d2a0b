"""What a file contains, stored beside it: its length and the next offsets.

    {"connector": "lines-to-file", "length": 1288, "offsets": [["lines", 0, 120], ["lines", 1, 98]]}

means: the first 1288 bytes are the records up to these offsets, each once. The ledger is replaced as a whole and only
after the data is durable, so it is true at any moment; what the file contains beyond the length does not count.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from connect import ConnectError, TopicPartition
from connectors.file.target import sync_folder, unwritable

SUFFIX = ".offsets"


@dataclass(frozen=True, slots=True)
class Entry:
    """One state of the ledger.

    Attributes:
        connector: that writes the file.
        length: bytes of the file that count.
        offsets: for each topic partition the offset of the next record.
    """

    connector: str
    length: int
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict)


class Ledger:
    """The ledger of one file."""

    def __init__(self, file: str) -> None:
        self.path = Path(file + SUFFIX)

    def read(self) -> Entry | None:
        """The last state, None when there is no ledger yet.

        Raises:
            ConnectError: it cannot be read, or something else has this name.
        """
        try:
            found = json.loads(self.path.read_bytes())
            offsets = {TopicPartition(str(topic), int(number)): int(next_) for topic, number, next_ in found["offsets"]}
            return Entry(str(found["connector"]), int(found["length"]), offsets)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ConnectError(f'Cannot read the ledger "{self.path}": {error.strerror}.') from error
        except (ValueError, KeyError, TypeError) as error:
            raise ConnectError(
                f'"{self.path}" is not a ledger of this sink. If it is something else, move it away; '
                "if it was damaged, restore it together with its file."
            ) from error

    def write(self, entry: Entry) -> None:
        """Replace the state, durably. Killed at any moment, the old state or the new one is there.

        Raises:
            RetriableError: there is no room.
            ConnectError: it cannot be written.
        """
        offsets = [[origin.topic, origin.partition, offset] for origin, offset in sorted(entry.offsets.items())]
        text = json.dumps({"connector": entry.connector, "length": entry.length, "offsets": offsets})
        fresh = self.path.with_name(self.path.name + ".new")
        try:
            with fresh.open("w", encoding="utf-8") as file:
                file.write(text + "\n")
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self.path)
            sync_folder(str(self.path))
        except OSError as error:
            raise unwritable(str(self.path), error) from error
