"""Trials of configurations that are not created: checked and resolved here, run in a process of their own.

Nothing of them is stored. The code of the plug-ins never runs in the worker's process, and a trial is no call on a
connector host: those are shared with connectors that run.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from connect.api.policy import ClientConfigOverridePolicy
from connect.errors import ConfigError, ConnectError
from connect.herder import checks
from connect.herder.errors import BadRequestError, BusyError, ForbiddenError
from connect.herder.plugin_settings import LISTED
from connect.herder.secret_keys import named_plugins
from connect.herder.views import connector_plugin
from connect.herder.worker import Worker, secrets_of
from connect.kafka.clients import override_rules
from connect.pipeline.build import OF_THE_CHAIN
from connect.pipeline.samples import Kind
from connect.plugins import PluginKind, Plugins
from connect.settings.limits import excess
from connect.settings.raw import comma_separated
from connect.settings.worker_keys import TapOptions
from connect.telemetry.levels import levels
from connect.telemetry.redaction import redactor
from connect.worker.trial_process import TrialSpec
from connect.worker.trials import TrialResult, WrongTrialError, run_trial

#: Seconds for one trial, from the start of its process.
PATIENCE_S: Final = 20.0
#: Each takes a process and a core; a user looks at one.
AT_ONCE: Final = 2
#: How the keys begin that are used, and so must have values: passwords of the target system need not be there yet.
_IN_USE: Final = ("name", "consumer.override.", "admin.override.", *OF_THE_CHAIN)

NO_SAMPLES: Final = "A trial does not start the task of a source, so there are no records to try. Give samples."


@dataclass(frozen=True, slots=True)
class TrialRequest:
    """What is tried.

    Attributes:
        config: of the connector, as written.
        topic: whose records are read; that of the samples, if there are any. None for the first that it names.
        limit: the most records of the topic.
        from_end: whether they are its last ones.
        samples: records in place of those of a topic: JSON texts, see `connect.pipeline.samples`.
    """

    config: Mapping[str, str]
    topic: str | None = None
    limit: int = 5
    from_end: bool = False
    samples: Sequence[str] = ()


class Trials:
    """Runs trials of one worker. Safe to use from many threads.

    Args:
        worker: its plug-ins, config providers and client settings are used.
        policy: what a connector may override of the client settings.
        patience: see `PATIENCE_S`.
    """

    def __init__(self, worker: Worker, policy: ClientConfigOverridePolicy, patience: float = PATIENCE_S) -> None:
        self._worker = worker
        self._policy = policy
        self._patience = patience
        self._room = threading.BoundedSemaphore(AT_ONCE)

    def begin(self, request: TrialRequest) -> Future[TrialResult]:
        """Start a trial. The future raises BadRequestError: the configuration or a sample is wrong.

        Raises:
            ForbiddenError: this worker shows no records.
            BusyError: as many as may run are running.
        """
        if not TapOptions.parse(self._worker.raw).enabled:
            raise ForbiddenError("This worker shows no records: tap.enabled is false.")
        if not self._room.acquire(blocking=False):
            raise BusyError(f"This worker is running {AT_ONCE} trials already. Try again in a moment.")
        result: Future[TrialResult] = Future()

        def run() -> None:
            try:
                result.set_result(self._run(request))
            except BaseException as error:
                result.set_exception(error)
            finally:
                self._room.release()

        # Not of a pool: its threads are waited for when the worker ends, and a trial may take long (P11).
        threading.Thread(target=run, name="trial", daemon=True).start()
        return result

    def _run(self, request: TrialRequest) -> TrialResult:
        try:
            spec = self._spec(request)
            if spec.kind == "source" and not spec.samples:
                return TrialResult(reasons=[NO_SAMPLES])
            result = run_trial(spec, self._patience)
        except (ConfigError, WrongTrialError) as error:
            raise BadRequestError(str(error)) from error
        result.reasons = [redactor.redact(reason) for reason in result.reasons]
        return result

    def _spec(self, request: TrialRequest) -> TrialSpec:
        """What its process starts with. Raises ConfigError, BadRequestError."""
        for key, message in [*excess(request.config), *checks.aliases_from_providers(request.config)]:
            raise ConfigError(key, message)
        config = {key: value for key, value in request.config.items() if key.startswith(_IN_USE)}
        resolved = self._worker.resolved(config)
        try:
            ref = connector_plugin(self._worker.plugins, resolved.values)
        except (ConnectError, ValueError) as error:
            raise BadRequestError(str(error)) from error
        if name := ref.name if ref.language == "java" else _of_java(self._worker.plugins, resolved.values):
            raise BadRequestError(f"{name} is a class of Java and runs in a JVM, where a trial cannot look.")
        kind: Kind = "source" if ref.kind is PluginKind.SOURCE else "sink"
        values = resolved.values
        wrong = [*override_rules.refused(values)]
        wrong += checks.refused(self._policy, values.get("name", ""), kind, values)
        for key, message in wrong:
            raise ConfigError(key, message)
        return TrialSpec(
            kind,
            values,
            self._worker.raw,
            self._worker.plugin_path,
            list(secrets_of(resolved)),
            self._topic(request, kind, values),
            list(request.samples),
            request.limit,
            request.from_end,
            logging.getLogger("connect").getEffectiveLevel(),
            levels.asked(),
        )

    @staticmethod
    def _topic(request: TrialRequest, kind: Kind, config: Mapping[str, str]) -> str:
        names = [request.topic or "", *comma_separated(config.get("topics")), config.get("topic", "")]
        found = next((name for name in names if name), "")
        if not found and kind == "sink" and not request.samples:
            raise ConfigError("topics", "names no topic. Name the one to read for the trial, or give samples.")
        return found or "samples"


def _of_java(plugins: Plugins, config: Mapping[str, str]) -> str | None:
    """A converter, transformation or predicate that is Java's; what is not found is said by who loads it."""
    for plugin in named_plugins(config):
        with suppress(ConnectError, ValueError):
            ref = plugins.find(LISTED, plugin.name, plugin.version)
            if ref.language == "java":
                return ref.name
    return None
