"""The values that a key of a configuration could have now, for a user who fills in a form.

The worker lists the topics of its cluster. A connector lists what is in its system, in a process of its own (see
`Connector.choices`). For all other keys, and for Java's plug-ins, there is what validation recommends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from connect.api.policy import ClientConfigOverridePolicy
from connect.errors import ConfigError, ConnectError
from connect.herder import checks
from connect.herder.plugin_settings import described
from connect.herder.views import connector_plugin
from connect.herder.worker import Worker, secrets_of
from connect.kafka.admin.answers import AdminError
from connect.kafka.clients.settings import task_java_settings
from connect.pipeline.error_kinds import ErrorKind
from connect.pipeline.findings import KeyDefinition
from connect.plugins import PluginRef
from connect.settings import Listed
from connect.settings.distributed_keys import HistoryOptions
from connect.settings.resolver import Resolved
from connect.telemetry.redaction import Redactor, names_a_secret, redactor
from connect.worker import messages
from connect.worker.hosts import ConnectorCallError

#: More than anybody reads. The rest is typed.
MOST: Final = 1000
#: How long a connector may take to list the values of a key.
TIMEOUT_S: Final = 20.0

_STORAGE: Final = ("config.storage.topic", "offset.storage.topic", "status.storage.topic")


@dataclass(frozen=True, slots=True)
class Choices:
    """The values of a key, at most `MOST`.

    Attributes:
        truncated: whether there are more.
        message: why there are none, a sentence or two; else empty.
    """

    values: list[str]
    truncated: bool = False
    message: str = ""


def choices(worker: Worker, policy: ClientConfigOverridePolicy, key: str, config: Mapping[str, str]) -> Choices:
    """List the values of a key of a connector's configuration. Does not raise, whatever a user wrote or a plug-in does.

    Args:
        config: as far as it is written.
    """
    resolved = worker.looked_up(config)
    try:
        ref = connector_plugin(worker.plugins, resolved.usable().values)
        found = _listed(worker, policy, ref, key, config, resolved)
    except ConfigError as error:  # with its key in front a message may look like a secret
        return Choices([], message=f"{error.key}: {redactor.redact(error.message)}")
    except (ConnectError, ValueError) as error:
        return Choices([], message=redactor.redact(str(error)))
    given = Redactor()  # a plug-in may list what it was given
    given.remember(secrets_of(resolved))
    return Choices([value for value in found.values if given.hide(value) == value], found.truncated, found.message)


def _listed(
    worker: Worker,
    policy: ClientConfigOverridePolicy,
    ref: PluginRef,
    key: str,
    config: Mapping[str, str],
    resolved: Resolved,
) -> Choices:
    keys = {each.name: each for each in described(worker.hosts, ref, TIMEOUT_S)}
    who = keys[key].listed if key in keys else None
    if who is Listed.TOPICS:
        return _topics(worker)
    found = _of_connector(worker, ref, key, resolved, keys) if who is Listed.BY_CONNECTOR else None
    return found or _recommended(worker, policy, ref, key, config)


def _topics(worker: Worker) -> Choices:
    """The topics of the worker's cluster, without Kafka's own and the worker's."""
    from connect.kafka.admin.client import Admin

    own = {worker.raw.get(name) for name in _STORAGE}
    own.add(HistoryOptions.parse(worker.raw).topic_beside(worker.raw.get("config.storage.topic", "")))
    admin = Admin(task_java_settings("admin", worker.raw, {}))
    try:
        found = sorted(topic for topic in admin.topics() if not topic.startswith("__") and topic not in own)
    except AdminError as error:
        return Choices([], message=f"The topics cannot be listed: {error.words}.")
    finally:
        admin.close()
    return _of(found, "There is no topic yet.")


def _of_connector(
    worker: Worker, ref: PluginRef, key: str, resolved: Resolved, keys: Mapping[str, KeyDefinition]
) -> Choices | None:
    """What the connector lists, None where it cannot."""
    resolved.check()
    values = resolved.values
    secret = {name for name in values if name in keys and keys[name].type == "PASSWORD"}
    secret |= {name for name in values if name not in keys and names_a_secret(name)}
    secrets = sorted({values[name] for name in secret | set(resolved.secret_keys) if values[name]})
    request = messages.ListChoices(ref.target, ref.folder, key, dict(values), secrets, MOST)
    try:
        found = worker.hosts.call_apart(ref, request, TIMEOUT_S, messages.Listed)
    except ConnectorCallError as error:
        advice = " Check whether what it connects to can be reached." if error.kind is ErrorKind.STALLED else ""
        return Choices([], message=f"{error}{advice}")
    if found.values is None:
        return None
    return _of(found.values, "There is none yet.", truncated=found.truncated)


def _recommended(
    worker: Worker, policy: ClientConfigOverridePolicy, ref: PluginRef, key: str, config: Mapping[str, str]
) -> Choices:
    """What validation recommends."""
    validation = checks.validate(worker, policy, config)
    values = next((one.value.recommended_values for one in validation.entries if one.value.name == key), [])
    if ref.language == "java":
        return _of(values, f"A Java plug-in lists nothing, and {ref.name} recommends no values for {key}.")
    return _of(values, f"{ref.name} cannot list values of {key}.")


def _of(values: Iterable[str], none: str, *, truncated: bool = False) -> Choices:
    found = list(values)
    return Choices(found[:MOST], truncated or len(found) > MOST, "" if found else none)
