"""Reading and changing the offsets of a stopped connector, as users write them (KIP-875).

A source's are in the worker's offset store, a sink's are those of its consumer group. The connector itself is asked
first, in its host process: it may refuse, and may keep offsets of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.herder.connectors import CALL_TIMEOUT_S
from connect.herder.errors import BadRequestError, HerderError
from connect.herder.model import OffsetEntry, TargetState
from connect.herder.views import connector_plugin
from connect.herder.worker import Worker
from connect.kafka.admin import groups
from connect.kafka.clients.override_rules import of_questions
from connect.kafka.clients.settings import task_client_settings
from connect.kafka.reading.topic_ends import TopicEnds
from connect.plugins import PluginKind, PluginRef
from connect.worker import messages
from connect.worker.hosts import ConnectorCallError

_LEAVING_S = 10.0
_LOOK_AGAIN_S = 0.2

TOPIC, PARTITION, OFFSET = "kafka_topic", "kafka_partition", "kafka_offset"


def refuse_unless_stopped(name: str, target: TargetState, tasks: int) -> None:
    """Raise BadRequestError for a connector that is not stopped, or whose tasks have not all ended."""
    if target is not TargetState.STOPPED or tasks:
        raise BadRequestError(
            "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the"
            f" specified connector by issuing a 'PUT' request to the '/connectors/{name}/stop' endpoint"
        )


def read_offsets(worker: Worker, name: str, config: Mapping[str, str]) -> list[OffsetEntry]:
    """The offsets that a connector has stored or committed. Asks the broker for a sink's.

    Args:
        config: the connector's, as written.
    """
    resolved = {**worker.resolved(config).values, "name": name}
    if connector_plugin(worker.plugins, resolved).kind is PluginKind.SOURCE:
        return [OffsetEntry(partition, offset) for partition, offset in worker.stores.of(resolved).all(name)]
    committed = groups.committed_offsets(worker.raw, resolved)
    return [_sink_entry(partition, offset) for partition, offset in sorted(committed.items())]


def altering(worker: Worker, name: str, config: Mapping[str, str], entries: Sequence[OffsetEntry]) -> Callable[[], str]:
    """Ask the connector, which may take long; then return what changes its offsets. None removes one.

    The connector must be stopped, and still be so when they are changed. The result of that is a message for the user.

    Raises:
        BadRequestError: their form is wrong, or the connector refuses them.
        HerderError: they could not be changed. So may what is returned.
    """
    resolved = {**worker.resolved(config).values, "name": name}
    ref = connector_plugin(worker.plugins, resolved)
    if ref.kind is PluginKind.SOURCE:
        for entry in entries:
            _plain("partition", entry.partition)
            _plain("offset", entry.offset or {})
        checked, _ = _ask(worker, ref, name, resolved, [(dict(e.partition), e.offset) for e in entries])
        store = worker.stores.of(resolved)

        def change() -> None:
            store.set(name, [(e.partition, e.offset) for e in entries])
    else:
        offsets = parse_sink_offsets(entries)
        checked, elsewhere = _ask(
            worker, ref, name, resolved, [(list(partition), offset) for partition, offset in offsets.items()]
        )
        if elsewhere:
            offsets |= _beginnings(
                worker, resolved, [partition for partition, offset in offsets.items() if offset is None]
            )

        def change() -> None:
            _change_group(name, "alter", lambda: groups.alter_offsets(worker.raw, resolved, offsets))

    return _changing(change, "altered", checked)


def resetting(worker: Worker, name: str, config: Mapping[str, str]) -> Callable[[], str]:
    """Remove all offsets: likewise."""
    resolved = {**worker.resolved(config).values, "name": name}
    ref = connector_plugin(worker.plugins, resolved)
    if ref.kind is PluginKind.SOURCE:
        store = worker.stores.of(resolved)
        partitions = [partition for partition, _ in store.all(name)]
        checked, _ = _ask(worker, ref, name, resolved, [(dict(partition), None) for partition in partitions])

        def change() -> None:
            store.set(name, [(partition, None) for partition in partitions])
    else:
        committed = groups.committed_offsets(worker.raw, resolved)
        checked, elsewhere = _ask(worker, ref, name, resolved, [(list(partition), None) for partition in committed])
        beginnings = _beginnings(worker, resolved, list(committed)) if elsewhere else None

        def change() -> None:
            if beginnings is None:
                _change_group(name, "reset", lambda: groups.delete_group(worker.raw, resolved))
            else:
                _change_group(name, "reset", lambda: groups.alter_offsets(worker.raw, resolved, beginnings))

    return _changing(change, "reset", checked)


def _changing(change: Callable[[], None], what: str, checked: bool) -> Callable[[], str]:
    def changing() -> str:
        change()
        return _done(what, checked)

    return changing


def parse_sink_offsets(entries: Sequence[OffsetEntry]) -> dict[TopicPartition, int | None]:
    """Kafka's offsets from the form of KIP-875; numbers may be strings. Raises BadRequestError."""
    offsets: dict[TopicPartition, int | None] = {}
    for entry in entries:
        if TOPIC not in entry.partition or PARTITION not in entry.partition:
            raise BadRequestError(
                f"The partition for a sink connector offset must contain the keys '{TOPIC}' and '{PARTITION}'"
            )
        topic = entry.partition[TOPIC]
        if topic is None:
            raise BadRequestError("Kafka topic names must be valid strings and may not be null")
        partition = TopicPartition(str(topic), _whole("partition", "Partition", entry.partition[PARTITION]))
        if entry.offset is None:
            offsets[partition] = None
        elif OFFSET not in entry.offset:
            raise BadRequestError(
                f"The offset for a sink connector should either be null or contain the key '{OFFSET}'"
            )
        else:
            offset = offsets[partition] = _whole("offset", "Offset", entry.offset[OFFSET])
            if offset < 0:
                raise BadRequestError(f"The offset {offset} is below 0. Write null to forget an offset.")
    return offsets


def _plain(what: str, fields: Mapping[str, Any]) -> None:
    """Kafka Connect stores only flat offsets, and no task could have written others."""
    for field, value in fields.items():
        if isinstance(value, dict | list):
            raise BadRequestError(
                f'"{field}" of the {what} is not text, a number, a boolean or null. Nothing else can be stored.'
            )


def _whole(what: str, name: str, value: Any) -> int:
    try:
        if isinstance(value, bool):
            raise ValueError
        if not -(1 << 63) <= (number := int(str(value))) < 1 << 63:
            raise ValueError
    except ValueError:
        shown = "null" if value is None else value
        raise BadRequestError(
            f"Failed to parse the following Kafka {what} value in the provided offsets: '{shown}'. {name} values for"
            " sink connectors need to be integers."
        ) from None
    return number


def _sink_entry(partition: TopicPartition, offset: int) -> OffsetEntry:
    return OffsetEntry({PARTITION: partition.partition, TOPIC: partition.topic}, {OFFSET: offset})


def _beginnings(
    worker: Worker, config: Mapping[str, str], partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, int | None]:
    """Where a connector begins that has no offsets.

    An engine that keeps its position elsewhere reads the group's offsets as a request of the user, and must find one:
    if there is none, the group's offsets may merely have expired.
    """
    ends = TopicEnds(worker.raw, config, sorted({partition.topic for partition in partitions}))
    settings = task_client_settings("consumer", worker.raw, of_questions(config)).librdkafka
    from_end = str(settings.get("auto.offset.reset", "earliest")) in {"latest", "end", "largest"}
    return dict(ends.ends(partitions) if from_end else ends.begins(partitions))


def _ask(
    worker: Worker, ref: PluginRef, name: str, config: Mapping[str, str], offsets: Sequence[Any]
) -> tuple[bool, bool]:
    """The connector's answer: True when it accepts these offsets, False when it was not asked.

    And whether its engine keeps the position outside of the group.
    """
    try:
        request = messages.AlterOffsets(
            ref.target, ref.folder, dict(config), list(offsets), worker.options.default_engine
        )
        answer = worker.hosts.call(ref, name, request, CALL_TIMEOUT_S, messages.CheckedOffsets)
        return answer.checked, answer.elsewhere
    except ConnectorCallError as error:
        raise BadRequestError(str(error)) from error


def _change_group(name: str, what: str, change: Callable[[], None]) -> None:
    """Change a group's offsets once its last member has left: tasks that just stopped may still be in it."""
    deadline = time.monotonic() + _LEAVING_S
    while True:
        try:
            change()
            return
        except groups.GroupInUseError as error:
            if time.monotonic() < deadline:
                time.sleep(_LOOK_AGAIN_S)
                continue
            raise _in_use(name, what) from error
        except ConnectError as error:
            raise HerderError(f"Failed to {what} consumer group offsets for connector {name}: {error}") from error


def _in_use(name: str, what: str) -> HerderError:
    return HerderError(
        f"Failed to {what} consumer group offsets for connector {name} either because its tasks haven't stopped"
        f" completely yet or the connector was resumed before the request to {what} its offsets could be"
        " successfully completed. If the connector is in a stopped state, this operation can be safely retried. If"
        " it doesn't eventually succeed, the Connect cluster may need to be restarted to get rid of the zombie sink"
        " tasks."
    )


def _done(what: str, checked: bool) -> str:
    if checked:
        return f"The offsets for this connector have been {what} successfully"
    return (
        f"The Connect framework-managed offsets for this connector have been {what} successfully. However, if this"
        f" connector manages offsets externally, they will need to be manually {what} in the system that the connector"
        " uses."
    )
