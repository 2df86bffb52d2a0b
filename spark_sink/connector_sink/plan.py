"""`WritePlan`: what executors need to run a connector's sink task; and the connector's keys for it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from connect import settings
from spark_sink.connector_sink.rows import RawRows, Rows

#: How long `pre_commit` may say the same at the end of a micro-batch, unless the connector says otherwise.
FLUSH_WITHIN_S = 10.0


@dataclass(frozen=True)
class WritePlan:
    """How one connector writes. Travels pickled to executors; its configurations hold secrets and are never shown.

    Attributes:
        connector: its name.
        task: its sink task's class, "module:Class".
        folder: its plug-in's folder; None if it is installed as a package.
        task_config, connector_config, worker_config: configurations, with secrets filled in.
        plugin_path: folders in which converters and transformations are looked up.
        lease_file: where the task's process says up to when it holds its lease (`spark_sink.lease_file`); "" where
            there is none. Looked at where it can be seen: on that process's machine.
        progress_folder: a folder on the driver's machine for `progress_files`; "" for none.
        flush_within: seconds for which `pre_commit` may hold back the same records before the write fails.
        rows: the form of the rows.
    """

    connector: str
    task: str
    folder: str | None = None
    task_config: Mapping[str, str] = field(default_factory=dict, repr=False)
    connector_config: Mapping[str, str] = field(default_factory=dict, repr=False)
    worker_config: Mapping[str, str] = field(default_factory=dict, repr=False)
    plugin_path: tuple[str, ...] = ()
    lease_file: str = ""
    progress_folder: str = ""
    flush_within: float = FLUSH_WITHIN_S
    rows: Rows = field(default_factory=RawRows)

    def key(self) -> str:
        """Equal for two plans with equal content, and only for these."""
        said = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()


class FlushOptions(settings.Options):
    """The keys of a sink connector on Spark for its writing."""

    flush_within = settings.Long(
        "sink.flush.timeout.ms",
        default=int(FLUSH_WITHIN_S * 1000),
        validator=settings.at_least(1),
        convert=settings.seconds,
        importance="LOW",
        group="Spark",
        width="SHORT",
        doc="How long a sink may stay behind at the end of a micro-batch, in milliseconds, while no further record "
        "becomes durable, before the task fails. A sink that writes at an interval needs at least that interval.",
    )
