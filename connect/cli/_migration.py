"""What runs a connector of Java's Kafka Connect on Python workers: which plug-in, and what it needs.

`judge` decides for one connector; `connect migrate` reads them, shows the verdicts and writes the files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Literal

from connect.cli._validation import Validator
from connect.errors import PluginNotFoundError
from connect.pipeline.findings import Remark, Validation
from connect.plugins import PluginKind, PluginRef
from connect.settings.connector_files import ConnectorFile

LANGUAGE = "connector.language"
_CONNECTORS = (PluginKind.SOURCE, PluginKind.SINK)

#: python: our own class runs it as it is. java: its jars run it. change: a key has to change first. missing: there is
#: no plug-in of its class.
Outcome = Literal["python", "java", "change", "missing"]


@dataclass(frozen=True)
class Measured:
    """The speed of a Python connector beside Java's, on one machine (docs/performance.md).

    Attributes:
        rate: records per second, ours to the peer's.
        cpu: CPU for a record, likewise.
        peer: what it was compared with.
        what: what was moved.
    """

    rate: float
    cpu: float
    peer: str
    what: str

    def __str__(self) -> str:
        return f"{self.rate:.2g} times the rate of {self.peer} and {self.cpu:.2g} of its CPU ({self.what})"


def _read_measured() -> dict[str, Measured]:
    """The results of `make bench` beside Java, by class. `python -m bench.page` writes the file."""
    found = json.loads(files("connect.cli").joinpath("measured.json").read_text(encoding="utf-8"))
    return {name: Measured(**figures) for name, figures in found.items()}


@dataclass(frozen=True)
class Connector:
    """A connector to migrate.

    Attributes:
        file: its configuration, and where it was read.
        offsets: of a source, as `GET /connectors/{name}/offsets` returns them; None where it has none, or they are
            unknown.
        unknown: why they are unknown; empty where they are not.
    """

    file: ConnectorFile
    offsets: dict[str, Any] | None = None
    unknown: str = ""


@dataclass(frozen=True)
class Verdict:
    """The verdict about one connector.

    Attributes:
        connector: that it is about.
        outcome: what runs it.
        plugin: that runs it; None where none does.
        errors: what has to change before it runs.
        remarks: keys that mean less, or nothing, here.
        instead: why Python's own class of this name does not run it; empty where it does, or there is none.
        measured: the speed of the class beside Java's.
    """

    connector: Connector
    outcome: Outcome
    plugin: PluginRef | None = None
    errors: Sequence[Remark] = ()
    remarks: Sequence[Remark] = ()
    instead: Sequence[Remark] = ()
    measured: Measured | None = None

    @property
    def name(self) -> str:
        """The connector's name."""
        return self.connector.file.name

    @property
    def connector_class(self) -> str:
        """As the configuration has it."""
        return self.connector.file.config.get("connector.class", "")

    @property
    def config(self) -> dict[str, str]:
        """The configuration for Python workers: as it was, or with the key that selects the jars."""
        added = {LANGUAGE: "java"} if self.instead and self.outcome == "java" else {}
        return {**self.connector.file.config, **added}

    @property
    def may_run_by_jars(self) -> bool:
        """Whether Java's class of this name may run it, because Python's own lacks something."""
        ours = self.plugin is not None and self.plugin.language == "python" and self.plugin.folder is None
        return self.outcome == "change" and ours and LANGUAGE not in self.config

    def for_programs(self) -> dict[str, Any]:
        """As JSON, without the configuration and its secrets."""
        return {
            "name": self.name,
            "connector.class": self.connector_class,
            "outcome": self.outcome,
            "plugin": None if self.plugin is None else _named(self.plugin),
            "errors": _remarks(self.errors),
            "remarks": _remarks(self.remarks),
            "why_not_python": _remarks(self.instead),
            "measured": None if self.measured is None else vars(self.measured),
        }


@dataclass
class Judge:
    """Decides about connectors on one worker.

    Attributes:
        validator: of the worker that they will have.
    """

    validator: Validator
    _measured: dict[str, Measured] = field(default_factory=_read_measured)

    def judge(self, connector: Connector) -> Verdict:
        """Find the plug-in that runs a connector, and have it validate the configuration."""
        config = connector.file.config
        ref = self._find(config, config.get(LANGUAGE))
        if ref is None:
            return Verdict(connector, "missing")
        validation = self.validator.validate(config)
        if validation.ok:
            return self._runs(connector, ref, validation)
        if ref.language == "python" and (jars := self._find(config, "java")) is not None:
            by_java = self.validator.validate({**config, LANGUAGE: "java"})
            if by_java.ok:
                return self._runs(connector, jars, by_java, instead=_errors(validation))
        return Verdict(connector, "change", ref, errors=_errors(validation), remarks=validation.warnings)

    def _runs(
        self, connector: Connector, ref: PluginRef, validation: Validation, instead: Sequence[Remark] = ()
    ) -> Verdict:
        outcome: Outcome = "java" if ref.language == "java" else "python"
        found = self._measured.get(ref.name) if outcome == "python" else None
        return Verdict(connector, outcome, ref, remarks=validation.warnings, instead=instead, measured=found)

    def _find(self, config: Mapping[str, str], language: str | None) -> PluginRef | None:
        name, version = config.get("connector.class", "").strip(), config.get("connector.plugin.version")
        try:
            return self.validator.plugins.find(_CONNECTORS, name, version, language or None)
        except (PluginNotFoundError, ValueError):
            return None


def _errors(validation: Validation) -> list[Remark]:
    return [*validation.errors(), *validation.worker_errors]


def _named(ref: PluginRef) -> dict[str, str | None]:
    return {"class": ref.name, "language": ref.language, "version": ref.version, "folder": ref.folder}


def _remarks(found: Sequence[Remark]) -> list[dict[str, str]]:
    return [{"key": key, "message": message} for key, message in found]
