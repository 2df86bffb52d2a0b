"""A herder that remembers, for tests of what stands in front of it."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from connect.herder.choices import Choices
from connect.herder.errors import AlreadyExistsError, NotFoundError
from connect.herder.lag import ConnectorLag, PartitionLag
from connect.herder.lag_status import LagStatus
from connect.herder.last_hour import LastHour
from connect.herder.model import Change, ConnectorInfo, ConnectorState, Health, OffsetEntry, TargetState
from connect.herder.rebalance_history import Rebalance
from connect.herder.taps import TappedRecord, Tapping
from connect.herder.trials import TrialRequest
from connect.herder.worker_metrics import ConnectorMetrics
from connect.pipeline.findings import KeyDefinition, Validation
from connect.settings import Listed
from connect.storage import ConnectorStatus, State, TaskStatus
from connect.storage.config_history import ConfigVersion
from connect.telemetry.metrics import Registry
from connect.telemetry.spans import Tracer
from connect.worker.trials import TrialResult

T = TypeVar("T")


def done(result: T) -> Future[T]:
    future: Future[T] = Future()
    future.set_result(result)
    return future


class FakeMetrics:
    """What a worker measures, in few words."""

    worker_id = "here:1"

    def __init__(self) -> None:
        self.registry = Registry()
        self.tracer = Tracer()
        self.hour = LastHour(dict)

    def page(self) -> str:
        return "# nothing\n"

    def of(self, name: str) -> ConnectorMetrics:
        figures = {
            "connector-task-metrics": {"status": "running", "batch-size-avg": float("nan"), "batch-size-max": 3.0}
        }
        return ConnectorMetrics({"connector-metrics": {"status": "running"}}, {0: figures})


class FakeHerder:
    """Connectors by name with their configurations, one task each.

    `hanging` are methods that never answer; `leader` is where changes are made, None: here.
    """

    def __init__(self) -> None:
        self.configs: dict[str, dict[str, str]] = {}
        self.targets: dict[str, TargetState | None] = {}
        self.versions: list[ConfigVersion] = []
        self.tapped: list[TappedRecord] = []
        self.asked: list[tuple[Any, ...]] = []
        self.validated: list[Mapping[str, str]] = []
        self.trials: list[TrialRequest] = []
        self.trial: TrialResult | Exception = TrialResult()
        self.hanging: set[str] = set()
        self.listed: dict[str, Choices] = {}
        self.settings = {"Known": [("name", "STRING"), ("token.lifetime", "INT"), ("pin", "PASSWORD")]}
        self.state = Health("healthy", "fine")
        self.measured = FakeMetrics()
        self.letters: Any = None
        self.rebalanced: list[Rebalance] = []
        self.leader: str | None = None

    def kafka_cluster_id(self) -> str | None:
        return "a-cluster"

    def health(self) -> Health:
        return self.state

    def readiness(self) -> Health:
        return self.state

    def busy_with(self) -> str:
        return "The worker is currently counting sheep"

    def connectors(self) -> list[str]:
        return sorted(self.configs)

    def info(self, name: str) -> ConnectorInfo:
        if name not in self.configs:
            raise NotFoundError(f"Connector {name} not found")
        return ConnectorInfo(name, self.configs[name], [0], "source")

    def status(self, name: str) -> ConnectorState:
        self.info(name)
        failed = TaskStatus(name, 0, State.FAILED, "here:1", "a trace")
        return ConnectorState(name, ConnectorStatus(name, State.RUNNING, "here:1", version="1.0"), [failed], "source")

    def leader_url(self) -> str | None:
        return self.leader

    def owner_url(self, name: str, task: int | None = None) -> str | None:
        return self.leader

    def metrics(self) -> FakeMetrics:
        return self.measured

    def rebalances(self) -> list[Rebalance]:
        return list(self.rebalanced)

    def lag(self, name: str) -> Future[ConnectorLag]:
        self.info(name)
        one = PartitionLag("lines", 0, None, 12, 12, 3000, LagStatus.STALLED, 10)
        return done(ConnectorLag(name, f"connect-{name}", [one]))

    def dead_letters(self, name: str, ask: Callable[[Any], T]) -> Future[T]:
        self.info(name)
        future: Future[T] = Future()
        try:
            future.set_result(ask(self.letters))
        except Exception as error:
            future.set_exception(error)
        return future

    def task_configs(self, name: str) -> list[dict[str, str]]:
        return [dict(self.info(name).config)]

    def active_topics(self, name: str) -> list[str]:
        return ["lines"]

    def reset_active_topics(self, name: str) -> None:
        self.asked.append(("reset topics", name))

    def tap(self, name: str, task: int | None, records: int, seconds: float) -> Tapping:
        self.info(name)
        tapping = Tapping(1, records, {0})
        tapping.records += self.tapped[:records]
        if "tap" not in self.hanging:
            tapping.full.set_result(None)
        return tapping

    def close_tap(self, tapping: Tapping) -> None:
        self.asked.append(("close tap", tapping.question))

    def history(self, name: str) -> Future[list[ConfigVersion]]:
        return done([version for version in reversed(self.versions) if version.connector == name])

    def put_connector(
        self,
        name: str,
        config: Mapping[str, str],
        target: TargetState | None = None,
        *,
        replace: bool = True,
        by: str | None = None,
    ) -> Future[Change]:
        if "put" in self.hanging:
            return Future()
        if name in self.configs and not replace:
            raise AlreadyExistsError(f"Connector {name} already exists")
        created = name not in self.configs
        self.configs[name], self.targets[name] = dict(config), target
        self._remember(name, by)
        return done(Change(created, self.info(name)))

    def patch_connector(
        self, name: str, patch: Mapping[str, str | None], *, by: str | None = None
    ) -> Future[ConnectorInfo]:
        merged = {**self.info(name).config, **patch}
        self.configs[name] = {key: value for key, value in merged.items() if value is not None}
        self._remember(name, by)
        return done(self.info(name))

    def delete_connector(self, name: str, *, by: str | None = None) -> Future[None]:
        del self.configs[name]
        self._remember(name, by)
        return done(None)

    def _remember(self, name: str, by: str | None) -> None:
        offset = 10 * (len(self.versions) + 1)
        self.versions.append(ConfigVersion(name, offset, self.configs.get(name), 1_700_000_000_000 + offset, by))

    def pause(self, name: str) -> Future[None]:
        self.asked.append(("pause", name))
        return done(None)

    def resume(self, name: str) -> Future[None]:
        self.asked.append(("resume", name))
        return done(None)

    def stop_connector(self, name: str) -> Future[None]:
        self.asked.append(("stop", name))
        return done(None)

    def restart_connector(
        self, name: str, *, include_tasks: bool = False, only_failed: bool = False
    ) -> Future[ConnectorState]:
        self.asked.append(("restart", name, include_tasks, only_failed))
        return done(self.status(name))

    def restart_task(self, name: str, number: int) -> Future[None]:
        self.asked.append(("restart", name, number))
        return done(None)

    def offsets(self, name: str) -> Future[list[OffsetEntry]]:
        return done([OffsetEntry({"file": "a"}, {"position": 1})])

    def alter_offsets(self, name: str, entries: Sequence[OffsetEntry]) -> Future[str]:
        self.asked.append(("alter", name, list(entries)))
        return done("altered")

    def reset_offsets(self, name: str) -> Future[str]:
        return done("reset")

    def validate(self, config: Mapping[str, str]) -> Future[Validation]:
        self.validated.append(config)
        return done(Validation(config.get("connector.class", ""), "source", [], [], [], []))

    def choices(self, key: str, config: Mapping[str, str]) -> Future[Choices]:
        self.validated.append(config)
        return done(self.listed.get(key, Choices([], message="None can be listed.")))

    def try_records(self, request: TrialRequest) -> Future[TrialResult]:
        self.trials.append(request)
        future: Future[TrialResult] = Future()
        if isinstance(self.trial, Exception):
            future.set_exception(self.trial)
        else:
            future.set_result(self.trial)
        return future

    def plugin_settings(self, name: str, version: str | None = None) -> Future[list[KeyDefinition]]:
        self.asked.append(("settings", name))
        future: Future[list[KeyDefinition]] = Future()
        if name in self.settings:
            rest: tuple[Any, ...] = (False, None, "HIGH", "", None, "NONE", "", [], -1)
            listed = dict.fromkeys(self.listed, Listed.BY_CONNECTOR)
            future.set_result(
                [KeyDefinition(key, kind, *rest, listed=listed.get(key)) for key, kind in self.settings[name]]
            )
        else:
            future.set_exception(NotFoundError(f"Unknown plugin {name}."))
        return future

    def set_logger_level(self, namespace: str, level: str, *, cluster: bool = False) -> list[str]:
        if level == "LOUD":
            raise ValueError("invalid log level 'LOUD'.")
        return [namespace]
