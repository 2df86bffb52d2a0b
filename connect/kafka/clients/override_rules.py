"""Which settings a client may have, and who may set them.

The author of a connector must not choose code, commands or signals for the worker's processes, whatever the override
policy (`connector.client.config.override.policy`) allows; nor make a client read files that it does not need. Three
rules:

- `NEVER`: nobody sets these, the operator neither. They load a library, or break what the loops rely on.
- Of librdkafka's own settings beyond Java's keys a connector may override those listed here. Settings that an update
  of it brings are refused until they were reviewed; a test reports them.
- Where a client is created in the worker's own process, for a request on a connector's behalf, only overrides count
  that say where the brokers are, how to log in, and what is requested: `of_questions`.

https://github.com/confluentinc/librdkafka/blob/v2.16.0/CONFIGURATION.md (KIP-458 for the overrides)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from connect.kafka.clients.java_keys import RULES
from connect.kafka.clients.java_rules import ClientSettingError, Computed, Kind
from connect.kafka.clients.librdkafka import PROPERTIES
from connect.settings.regular_files import MOST_OF_A_STORE, UnfitFileError, check_regular


def _keys(text: str) -> frozenset[str]:
    return frozenset(text.split())


CLIENTS: Final[tuple[Kind, ...]] = ("producer", "consumer", "admin")

_LOADS: Final = "it would load a library into our processes, which nobody may; remove it"
_OF_RUNTIME: Final = "it would change how the client talks to our own loops; remove it"
_POSITIONS: Final = "offsets are stored in Kafka, with what they belong to; remove it"
#: Refused everywhere, with the reason: in the worker's properties too.
NEVER: Final[Mapping[str, str]] = {
    "plugin.library.paths": _LOADS,
    "ssl.engine.id": _LOADS,
    "ssl.engine.location": _LOADS,
    "internal.termination.signal": "librdkafka would send this signal to its threads: the process may end; remove it",
    "enabled_events": _OF_RUNTIME,
    "log.queue": _OF_RUNTIME,
    "group.protocol.type": "the members of a sink's group are consumers; remove it",
    "offset.store.method": _POSITIONS,
    "offset.store.path": _POSITIONS,
    "offset.store.sync.interval.ms": _POSITIONS,
}
#: Providers that OpenSSL itself has. Any other name is looked for as a library.
_OPENSSLS_OWN: Final = frozenset({"base", "default", "fips", "legacy", "null"})

_SENDS_FILE: Final = "the file would be sent to a server that the connector names"
_OPERATORS: Final[Mapping[str, str]] = {
    "sasl.kerberos.kinit.cmd": "it is a command that would be run",
    "sasl.oauthbearer.assertion.file": _SENDS_FILE,
    "sasl.oauthbearer.assertion.private.key.file": "a file of the worker's would sign for any user who names it",
    "sasl.oauthbearer.assertion.template.file": _SENDS_FILE,
    "sasl.oauthbearer.assertion.jwt.template.file": _SENDS_FILE,
    "sasl.oauthbearer.metadata.authentication.type": "it would log in as this machine",
    "ssl.providers": "OpenSSL would load what it names",
    "topic.blacklist": "it is a regular expression that runs within the client",
}
#: What librdkafka knows beyond Java's keys and a connector may set: times, sizes, logins, certificates.
_NATIVE: Final = _keys(
    """
    api.version.fallback.ms api.version.request api.version.request.timeout.ms auto.commit.enable batch.num.messages
    broker.address.family broker.address.ttl broker.version.fallback builtin.features compression.codec
    compression.level consume.callback.max.messages coordinator.query.interval.ms debug delivery.report.only.error
    enable.auto.offset.store enable.gapless.guarantee enable.partition.eof enable.random.seed
    enable.sasl.oauthbearer.unsecure.jwt enable.ssl.certificate.verification fetch.error.backoff.ms
    fetch.message.max.bytes fetch.queue.backoff.ms fetch.wait.max.ms https.ca.location https.ca.pem
    log.connection.close log.thread.name log_level max.in.flight message.copy.max.bytes message.max.bytes
    message.send.max.retries message.timeout.ms metadata.broker.list partitioner produce.offset.report
    queue.buffering.backpressure.threshold queue.buffering.max.kbytes queue.buffering.max.messages
    queue.buffering.max.ms queued.max.messages.kbytes queued.min.messages queuing.strategy receive.message.max.bytes
    reconnect.backoff.jitter.ms request.required.acks sasl.kerberos.keytab sasl.kerberos.principal sasl.mechanisms
    sasl.oauthbearer.assertion.private.key.pem sasl.oauthbearer.client.id sasl.oauthbearer.client.secret
    sasl.oauthbearer.config sasl.oauthbearer.extensions sasl.oauthbearer.grant.type sasl.oauthbearer.method
    sasl.password sasl.username socket.blocking.max.ms socket.keepalive.enable socket.max.fails socket.nagle.disable
    socket.receive.buffer.bytes socket.send.buffer.bytes socket.timeout.ms ssl.ca.certificate.stores ssl.ca.location
    ssl.ca.pem ssl.certificate.location ssl.certificate.pem ssl.crl.location ssl.curves.list ssl.key.location
    ssl.key.pem ssl.sigalgs.list statistics.interval.ms sticky.partitioning.linger.ms
    topic.metadata.propagation.max.ms topic.metadata.refresh.fast.cnt topic.metadata.refresh.fast.interval.ms
    topic.metadata.refresh.interval.ms topic.metadata.refresh.sparse
    """
)
#: Files with certificates and keys: what a client needs to log in. They are read by OpenSSL, or by us.
_FILES: Final = _keys(
    """
    https.ca.location sasl.kerberos.keytab ssl.ca.location ssl.certificate.location ssl.crl.location ssl.key.location
    ssl.keystore.location ssl.truststore.location
    """
)
_FOLDERS_TOO: Final = frozenset({"https.ca.location", "ssl.ca.location", "ssl.crl.location"})
#: They become words of kinit's command, which a shell reads.
_OF_KINIT: Final = frozenset({"sasl.kerberos.keytab", "sasl.kerberos.principal", "sasl.kerberos.service.name"})
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./@:][A-Za-z0-9_./@:+-]*")

#: Of a client that asks on a connector's behalf; besides, what begins as in `_LOGIN`.
_OF_QUESTIONS: Final = _keys(
    """
    acks auto.offset.reset bootstrap.servers broker.address.family client.dns.lookup client.id client.rack
    compression.codec compression.level compression.type connections.max.idle.ms enable.idempotence
    enable.sasl.oauthbearer.unsecure.jwt enable.ssl.certificate.verification group.id group.instance.id group.protocol
    heartbeat.interval.ms https.ca.location https.ca.pem isolation.level max.request.size message.max.bytes
    metadata.broker.list metadata.max.age.ms partitioner reconnect.backoff.max.ms reconnect.backoff.ms
    request.timeout.ms retry.backoff.max.ms retry.backoff.ms session.timeout.ms
    socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms transaction.timeout.ms transactional.id
    """
)
_LOGIN: Final = ("sasl.", "security.", "ssl.")


def refuse(connector: Mapping[str, str]) -> None:
    """Raise ClientSettingError for the first override of a connector that is not allowed, of any client."""
    for key, message in refused(connector):
        raise ClientSettingError(key, message)


def refused(connector: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The overrides of a connector that are not allowed under any policy: each key as it is written, and why."""
    for written, value in connector.items():
        for kind in CLIENTS:
            key = written.removeprefix(f"{kind}.override.")
            if key != written and (message := _why_not(kind, key, value)):
                yield written, message


def refused_of_worker(worker: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The client settings among a worker's properties that nobody may set: each key as it is written, and why."""
    for written, value in worker.items():
        kind, _, key = written.partition(".")
        if message := never(key if kind in CLIENTS else written, value):
            yield written, message


def never(key: str, value: str) -> str | None:
    """Why no client may have this setting; None where one may."""
    if key == "ssl.providers" and (unknown := sorted({*value.replace(",", " ").split()} - _OPENSSLS_OWN)):
        return f'OpenSSL would load "{unknown[0]}"; write some of {", ".join(sorted(_OPENSSLS_OWN))}, or remove it'
    return NEVER.get(key)


def of_questions(connector: Mapping[str, str]) -> dict[str, str]:
    """A connector's configuration without the overrides that a client in the worker's own process does not need.

    Raises:
        ClientSettingError: it has one that no connector may have.
    """
    refuse(connector)
    kept = {}
    for written, value in connector.items():
        kind, _, key = written.partition(".override.")
        if kind not in CLIENTS or not key or key in _OF_QUESTIONS or key.startswith(_LOGIN):
            kept[written] = value
    return kept


def _why_not(kind: Kind, key: str, value: str) -> str | None:
    if message := never(key, value):
        return message
    known = PROPERTIES.get(key)
    if why := _OPERATORS.get(key):
        return f"{why}, so only the operator may set it: as {kind}.{key} in the worker's properties, or remove it"
    if known is not None and key not in RULES[kind] and key not in _NATIVE and known.scope in {"any", kind}:
        return f"only the operator may set it: as {kind}.{key} in the worker's properties, or remove it"
    if key in _FILES and (problem := _unfit(key, value)):
        return problem
    if key in _OF_KINIT and not _PLAIN.fullmatch(value.strip()):
        return "it becomes a word of the command kinit; write letters, digits and any of _ . / @ : + -, nothing else"
    if key == "sasl.jaas.config":
        return _login_problem(value)
    return None


def _login_problem(value: str) -> str | None:
    """Kerberos' words within a login module's options; other errors in it are reported elsewhere."""
    rule = RULES["admin"]["sasl.jaas.config"]
    assert isinstance(rule, Computed)
    try:
        entries = rule.entries("sasl.jaas.config", value, {})
    except ClientSettingError:
        return None
    for key in sorted(_OF_KINIT & entries.keys()):
        if not _PLAIN.fullmatch(entries[key]):
            return f"what becomes {key} is a word of the command kinit; write letters, digits and any of _ . / @ : + -"
        if key in _FILES and (problem := _unfit(key, entries[key])):
            return problem
    return None


def _unfit(key: str, value: str) -> str | None:
    """Why a path is not a file that can be read at once. A missing file is reported by its reader."""
    try:
        check_regular(Path(value.strip()), MOST_OF_A_STORE)
    except IsADirectoryError:
        return None if key in _FOLDERS_TOO else "it is a folder; name a file of certificates or keys"
    except UnfitFileError as error:
        return f"the file {error}"
    except (OSError, ValueError):
        return None
    return None
