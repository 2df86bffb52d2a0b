"""What any herder answers from its worker alone, on threads of their own: validations, plug-ins, the cluster's id."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import ParamSpec, TypeVar

from connect.errors import ConnectError
from connect.herder import checks
from connect.herder.checks import load_policy
from connect.herder.choices import Choices, choices
from connect.herder.dead_letters import DeadLetters
from connect.herder.plugin_settings import plugin_settings
from connect.herder.trials import TrialRequest, Trials
from connect.herder.views import connector_plugin
from connect.herder.worker import Worker
from connect.pipeline.findings import KeyDefinition, Validation
from connect.worker.background import Background
from connect.worker.trials import TrialResult

log = logging.getLogger("connect.herder")

_AT_ONCE = 16
#: Keys of which values are listed at one time. Each takes a process, and up to 20 s.
_LISTING_AT_ONCE = 4
#: Topics of dead letters that are read at one time. Each takes a consumer, and up to half a minute.
_READING_AT_ONCE = 4

P = ParamSpec("P")
T = TypeVar("T")


class WorkerQueries:
    """Answers requests that may take a while. Safe to use from many threads.

    Raises:
        ConnectError: the policy for client overrides cannot be loaded.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._policy = load_policy(worker.plugins, worker.raw)
        self._trials = Trials(worker, self._policy)
        self._threads = Background("ask", _AT_ONCE)
        self._listing = Background("choices", _LISTING_AT_ONCE)
        self._reading = threading.Semaphore(_READING_AT_ONCE)
        self._cluster_id: str | None = None

    def submit(self, ask: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run another request. Raises RuntimeError after `close`."""
        return self._threads.submit(partial(ask, *args, **kwargs))

    def kafka_cluster_id(self) -> str | None:
        """The id of the Kafka cluster, None while no broker answers."""
        from connect.kafka.admin.client import cluster_id

        if self._cluster_id is None:
            try:
                self._cluster_id = cluster_id(self._worker.raw)
            except ConnectError as error:
                log.warning("%s", error)
        return self._cluster_id

    def validate(self, config: Mapping[str, str]) -> Future[Validation]:
        """See `Herder.validate`."""
        return self._threads.submit(partial(checks.validate, self._worker, self._policy, config))

    def choices(self, key: str, config: Mapping[str, str]) -> Future[Choices]:
        """See `Herder.choices`."""
        return self._listing.submit(partial(choices, self._worker, self._policy, key, config))

    def try_records(self, request: TrialRequest) -> Future[TrialResult]:
        """See `Herder.try_records`."""
        return self._trials.begin(request)

    def refuse_if_wrong(self, name: str, config: Mapping[str, str]) -> None:
        """Validate what is to run, on this thread. Raises BadRequestError with all errors."""
        with suppress(ConnectError, ValueError):  # the validation says so
            self._worker.expect(name, connector_plugin(self._worker.plugins, config), config)
        checks.refuse_if_wrong(name, config, checks.validate(self._worker, self._policy, config))

    def plugin_settings(self, name: str, version: str | None = None) -> Future[list[KeyDefinition]]:
        """See `Herder.plugin_settings`."""
        return self._threads.submit(partial(plugin_settings, self._worker, name, version))

    def dead_letters(self, name: str, config: Mapping[str, str], ask: Callable[[DeadLetters], T]) -> Future[T]:
        """See `Herder.dead_letters`. `config` is the connector's, as written."""

        def read() -> T:
            letters = DeadLetters(self._worker.raw, {**self._worker.resolved(config).values, "name": name})
            try:
                return ask(letters)
            finally:
                letters.close()

        answer: Future[T] = Future()

        def run() -> None:
            with self._reading:
                if not answer.set_running_or_notify_cancel():
                    return
                try:
                    answer.set_result(read())
                except BaseException as error:
                    answer.set_exception(error)

        # Not of a pool: its threads are waited for when the worker ends, and reading may take half a minute (P11).
        threading.Thread(target=run, name="dead letters", daemon=True).start()
        return answer

    def close(self) -> None:
        """Accept no requests from now on; waiting ones are dropped."""
        for threads in (self._threads, self._listing):
            threads.close(0, drop=True)
