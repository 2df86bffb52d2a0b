"""The partitions that a task has taken over in one table: for each a number, which grows with every task that does."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from connect.data.record import TopicPartition
from connect.errors import FencedError


class Claims:
    """What one task owns of a table, and what its next commit will take over.

    Args:
        table: its name in messages.
        connector: whose tasks they are.
        owner: the number in the table, as last seen; 0 for none.
    """

    def __init__(self, table: str, connector: str, owner: Callable[[TopicPartition], int]) -> None:
        self._table = table
        self._connector = connector
        self._owner = owner
        self._mine: dict[TopicPartition, int] = {}  # in the table
        self._planned: dict[TopicPartition, int] = {}  # to be there with the next commit

    def plan(self, partitions: Iterable[TopicPartition]) -> None:
        """The next commit takes over these partitions."""
        self._planned = {partition: self._owner(partition) + 1 for partition in partitions}

    def expect_nobody(self, partitions: Iterable[TopicPartition]) -> None:
        """Note partitions of a table that does not exist yet: whoever writes first will own them."""
        self._mine.update(dict.fromkeys(partitions, 0))

    def check(self, partitions: Iterable[TopicPartition]) -> None:
        """Plan to take over those of the partitions that this task does not own yet.

        Raises:
            FencedError: another task has taken over one of them since this one did.
        """
        self._planned = {}
        for partition in partitions:
            seen, mine = self._owner(partition), self._mine.get(partition)
            if not mine:
                self._planned[partition] = seen + 1
            if mine is not None and seen > mine:
                raise FencedError(
                    f"Table {self._table}: {partition} was taken over by another task of a connector called "
                    f"{self._connector}. This one writes nothing more. If two clusters have a connector of this name, "
                    "give one of them another name."
                )

    def numbers(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The numbers that a commit about these partitions writes. After it, call `made`."""
        return {partition: self._planned.get(partition, self._mine.get(partition, 0)) for partition in partitions}

    def made(self, numbers: dict[TopicPartition, int]) -> None:
        """A commit with these numbers was made."""
        self._mine.update(numbers)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Forget partitions that the task no longer owns."""
        for partition in partitions:
            self._mine.pop(partition, None)
