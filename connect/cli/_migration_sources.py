"""Where `connect migrate` finds connectors: in a running cluster, or in files; and their future worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from connect.cli import _secrets
from connect.cli._files import read_paths
from connect.cli._migration import Connector
from connect.cli._pipeline_files import Values
from connect.cli._problems import Problems
from connect.cli._rest_client import AnswerError, RestClient
from connect.cli._worker_files import WorkerFile, read_any_worker, worker_of
from connect.settings.connector_files import ConnectorFile
from connect.settings.properties import loads
from connect.settings.worker_keys import STANDALONE

#: Kafka Connect's own worker has no defaults for converters; these are those of its example files.
_WITHOUT_FILE: Final = """\
bootstrap.servers=localhost:9092
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
"""


def worker_from(path: str | None, plugin_path: str | None, problems: Problems) -> WorkerFile | None:
    """The connectors' future worker: that of a file, or one with defaults. None when it cannot be read."""
    if path:
        return read_any_worker(path, problems, plugin_path)
    written = loads(_WITHOUT_FILE, "no worker's file")
    if plugin_path:
        written = written.replaced("plugin.path", plugin_path)
    return worker_of(written, Problems([]), STANDALONE)


def of_files(paths: Sequence[str]) -> tuple[str, list[Connector], Problems]:
    """The connectors of files and folders, their common name, and the errors of the files.

    Raises:
        ConfigError: there is no file at all.
    """
    files, problems = read_paths(paths, Values())
    return f"{len(files)} connector file{'s' if len(files) != 1 else ''}", [Connector(file) for file in files], problems


def of_cluster(client: RestClient) -> tuple[str, list[Connector]]:
    """Those of a running cluster, with the offsets of its sources. Raises as `RestClient`."""
    version = client.get().get("version", "of an unknown version")
    expanded: Mapping[str, Any] = client.get("connectors", expand="info")
    found = []
    for name, about in sorted(expanded.items()):
        info = about["info"]
        config: dict[str, str] = {"name": name, **info["config"]}
        _secrets.remember(config)
        file = ConnectorFile(name, config, "STOPPED", f"connector {name}", {}, {"name": 0})
        offsets, unknown = _offsets(client, name) if info["type"] == "source" else (None, "")
        found.append(Connector(file, offsets, unknown))
    return f"Kafka Connect {version} at {client.address}", found


def _offsets(client: RestClient, name: str) -> tuple[dict[str, Any] | None, str]:
    """A source's offsets, None where it has none; and why the cluster does not tell them."""
    try:
        answer: dict[str, Any] = client.get("connectors", name, "offsets")
    except AnswerError as error:
        before_36 = error.status == 404 and error.said.startswith("HTTP 404")
        return None, "Kafka Connect tells them from version 3.6 on" if before_36 else str(error)
    return (answer if answer.get("offsets") else None), ""
