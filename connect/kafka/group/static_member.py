"""The name of a sink task in its consumer group (KIP-345): the same in whichever process it runs.

A killed process stays in its group until its session ends. Under the same name its successor replaces it at once, no
other partitions move, and the brokers refuse the earlier process, should it still live.
"""

from __future__ import annotations

import hashlib
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from connect.kafka.clients.librdkafka_property import Value

KEY: Final = "group.instance.id"
_LONGEST: Final = 249  # as for names of topics, by whose rule Java's clients go
_NOT_ALLOWED: Final = re.compile(r"[^A-Za-z0-9._-]")


def as_static_member(
    settings: Mapping[str, Value], worker: Mapping[str, str], connector: str, task: int
) -> dict[str, Value]:
    """The settings of a sink task's consumer with its name in the group.

    A name that a user set stays. The protocol of KIP-848 gets none: there a broker refuses a new member while the
    session of the previous one lasts.

    Args:
        settings: librdkafka's.
        worker: its configuration.
    """
    if KEY in settings or settings.get("group.protocol") == "consumer":
        return dict(settings)
    return {**settings, KEY: instance_id(worker, connector, task)}


def instance_id(worker: Mapping[str, str], connector: str, task: int) -> str:
    """One name for all processes of a task of which at most one should run: in a pool, or on a standalone worker.

    Two standalone workers may have a connector of the same name, and share its partitions.
    """
    if "config.storage.topic" in worker:
        who = worker.get("group.id", "").strip()
    else:
        who = f"{socket.gethostname()} {Path(worker.get('offset.storage.file.filename', '')).absolute()}"
    digest = hashlib.sha256(f"{who}\0{connector}".encode()).hexdigest()[:12]
    rest = f"-{task}-{digest}"
    return _NOT_ALLOWED.sub("_", connector)[: _LONGEST - len(rest)] + rest
