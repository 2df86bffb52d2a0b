"""Which other workers run parts of a connector."""

from __future__ import annotations

from connect.herder.errors import NotFoundError
from connect.herder.herder import Herder


def others_of(herder: Herder, connector: str) -> set[str]:
    """The ids of the other workers that run the connector or a task of it, by its states."""
    try:
        state = herder.status(connector)
    except NotFoundError:
        return set()
    workers = {state.connector.worker_id, *(task.worker_id for task in state.tasks)}
    return workers - {"", herder.metrics().worker_id}
