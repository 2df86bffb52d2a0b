"""Distributing connectors and tasks among the workers of a group: the members' messages, and the assignment."""

from connect.group.assignor import Configured, assign
from connect.group.cooperative import Delays, Memory
from connect.group.wire import (
    CONFIG_MISMATCH,
    EAGER,
    PROTOCOLS,
    Assignment,
    Metadata,
    WireError,
    can_be_told,
    decode_assignment,
    decode_metadata,
    encode_metadata,
)
from connect.group.work import TaskId, Work

__all__ = [
    "CONFIG_MISMATCH",
    "EAGER",
    "PROTOCOLS",
    "Assignment",
    "Configured",
    "Delays",
    "Memory",
    "Metadata",
    "TaskId",
    "WireError",
    "Work",
    "assign",
    "can_be_told",
    "decode_assignment",
    "decode_metadata",
    "encode_metadata",
]
