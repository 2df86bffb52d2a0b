"""The stores of configurations, offsets and states."""

from connect.storage.file_offsets import FileOffsetStore
from connect.storage.offsets import MemoryOffsetStore, OffsetStore, OffsetStoreError
from connect.storage.status import ConnectorStatus, MemoryStatusStore, RestartNote, State, Status, TaskStatus, WaitNote

__all__ = [
    "ConnectorStatus",
    "FileOffsetStore",
    "MemoryOffsetStore",
    "MemoryStatusStore",
    "OffsetStore",
    "OffsetStoreError",
    "RestartNote",
    "State",
    "Status",
    "TaskStatus",
    "WaitNote",
]
