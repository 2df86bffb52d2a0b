"""Whether a worker works, and whether it is ready (KIP-1017): only the first is a reason to restart it."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from connect.herder.model import Health
from connect.herder.worker import Worker
from connect.telemetry.outages import outages

#: The thread that renews the leases of tasks comes by every three seconds.
_SILENT_S: Final = 30.0


def health_of(worker: Worker, *, started: bool) -> Health:
    """Health of the worker's own parts. Unavailable brokers make none of them fail."""
    silent = worker.supervisor.silence()
    if silent > _SILENT_S:
        return Health("unhealthy", f"The thread that supervises tasks has not moved for {silent:.0f} s.")
    if not started:
        return Health("starting", "Worker is still starting up.")
    return Health("healthy", "Worker has completed startup and is ready to handle requests.")


def readiness_of(health: Health) -> Health:
    """The same, with what the worker waits for."""
    return Health(health.status, f"{health.message} {waits_for()}".rstrip())


def waits_for() -> str:
    """What this worker or one of its tasks has waited for longest, as a sentence; empty where none waits."""
    wait = outages.longest()
    if wait is None:
        return ""
    return f"Since {datetime.fromtimestamp(wait.since).astimezone().isoformat(timespec='seconds')}: {wait.why}"
