"""The process of one trial: runs sample records through the chain of a configuration, says what came out, and ends.

The converters and transformations are code of plug-ins, as in the process of a task, and here a user is only trying
them: so each trial has a process of its own, which its worker ends when its time is over (`connect.worker.trials`).
The connector itself is not loaded, no task starts, no group is joined, no offset moves.
"""

from __future__ import annotations

import json
import signal
import socket
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from connect.data.record import Record
from connect.errors import ConfigError, ConnectError, one_line
from connect.kafka.reading.browse import Browser, NoTopicError
from connect.pipeline.build import sink_chain, source_chain
from connect.pipeline.error_kinds import kind_of
from connect.pipeline.parked import RetrySettings
from connect.pipeline.samples import Kind, SampleError, consumed, sample
from connect.pipeline.tap_masks import FieldMasks
from connect.pipeline.trial import Trial
from connect.plugins import Plugins
from connect.settings.worker_keys import TapOptions
from connect.telemetry.redaction import redactor
from connect.worker import guard, messages
from connect.worker.channel import Channel, cut
from connect.worker.remote_log import send_logs
from connect.worker.said import TAPPED_SIZE

#: Seconds for reading the topic. The rest of the trial's time is for the chain.
_READ_S: Final = 10.0
_DEAD_LETTERS: Final = "errors.deadletterqueue.topic.name"

Send = Callable[[messages.Message], None]


class TrialSpec(msgspec.Struct, frozen=True):
    """All that the process of a trial needs to start.

    Attributes:
        kind: of the connector.
        config: its keys, secrets filled in: those of the chain, and the overrides of its clients.
        worker_config: the worker's.
        plugin_path: folders of converters and transformations.
        secrets: texts that must not be shown.
        topic: of the samples; without any, of a sink the one whose records are tried.
        samples: records as `connect.pipeline.samples` has them, each a JSON text.
        limit: the most records that are read.
        from_end: whether they are the last ones of the topic.
        log_level, log_levels: see `connect.worker.messages.TaskSpec`.
    """

    kind: Kind
    config: dict[str, str]
    worker_config: dict[str, str]
    plugin_path: list[str]
    secrets: list[str]
    topic: str
    samples: list[str]
    limit: int
    from_end: bool
    log_level: int
    log_levels: list[tuple[str, str]] = []


def main(spec: bytes, end: socket.socket) -> None:
    """Run a trial to its end: `Tapped` for each record, before each step `Trying`, then `Stopped`, or `Failed`.

    Args:
        spec: an encoded `TrialSpec`.
        end: this process's end of the control pipe.
    """
    guard.die_with_server()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal is for the worker
    trial = msgspec.msgpack.decode(spec, type=TrialSpec)
    channel = Channel(end)
    redactor.remember(trial.secrets)
    send_logs(channel, redactor, trial.log_level, trial.log_levels)
    try:
        _run(trial, channel.send)
    except BaseException as error:
        summary = one_line(error) if isinstance(error, ConnectError) else f"{type(error).__name__}: {one_line(error)}"
        trace = redactor.redact("".join(traceback.format_exception(error)))
        channel.send(messages.Failed(cut(redactor.redact(summary)), cut(trace), kind_of(error)))
    else:
        channel.send(messages.Stopped())


def _run(spec: TrialSpec, send: Send) -> None:
    send(messages.Trying("making its converters and transformations"))
    make = sink_chain if spec.kind == "sink" else source_chain
    chain = make(
        Plugins.discover([Path(folder) for folder in spec.plugin_path]), spec.worker_config, spec.config, lambda _: None
    )
    number = 0

    def begins(step: str) -> None:
        send(messages.Trying(f"running record {number} through {step}"))

    trial = Trial(chain, spec.config.get(_DEAD_LETTERS, "").strip() or None, _retry_topic(spec), begins)
    masks = FieldMasks(TapOptions.parse(spec.worker_config).masks)
    for number, record in enumerate(_records(spec, send), 1):
        seen = msgspec.json.encode(masks.masked(trial.run(record).seen()))
        if len(seen) > TAPPED_SIZE:
            send(messages.Tapped(0, error=f"Record {number} is too large to be shown."))
        else:
            send(messages.Tapped(0, seen))
    if not number:
        send(messages.Tapped(0, error=f"Topic {spec.topic} has no records."))
    # Nothing is closed: this process ends now, and whatever it opened with it.


def _retry_topic(spec: TrialSpec) -> str | None:
    settings = RetrySettings.of(spec.config, spec.config.get("name", "")) if spec.kind == "sink" else None
    return None if settings is None else settings.topics[0]


def _records(spec: TrialSpec, send: Send) -> Sequence[Record]:
    """All of them at once: an error in the last sample is said before the first is tried."""
    if not spec.samples:
        send(messages.Trying(f"reading topic {spec.topic}"))
        return _of_topic(spec)
    found: list[Record] = []
    for number, text in enumerate(spec.samples):
        try:
            found.append(sample(spec.kind, json.loads(text), spec.topic, number))
        except SampleError as error:
            raise ConfigError("samples", f"record {number + 1}: {error}") from error
    return found


def _of_topic(spec: TrialSpec) -> Sequence[Record]:
    browser = Browser(spec.worker_config, spec.config)
    try:
        found = browser.some(spec.topic, browser.spans(spec.topic), spec.limit, _READ_S, from_end=spec.from_end)
        return [
            consumed(
                one.topic, one.value, one.key, one.partition, one.offset, one.timestamp, one.headers, one.timestamp_type
            )
            for one in found
        ]
    except NoTopicError as error:
        raise ConfigError("topic", str(error)) from error
    except TimeoutError as error:
        raise ConnectError(str(error)) from error
