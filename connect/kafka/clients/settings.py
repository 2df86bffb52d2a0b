"""Settings of Kafka's clients by their Java names, translated for librdkafka.

A setting takes effect, is named in a warning, or is refused; none is silently dropped. Settings in librdkafka's own
spelling are passed on. Where both know a name, it means what it means in Java.

https://kafka.apache.org/documentation/#producerconfigs (KIP-458 for the overrides of a connector)
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field

from connect.kafka.clients.java_keys import RULES
from connect.kafka.clients.java_rules import (
    ClientSettingError,
    Computed,
    Kind,
    Mapped,
    NoEffect,
    OfRuntime,
    Refused,
    whole_number,
)
from connect.kafka.clients.librdkafka import PROPERTIES
from connect.kafka.clients.librdkafka_property import Value
from connect.kafka.clients.override_rules import never, refuse
from connect.settings.raw import trimmed

__all__ = [
    "CONSUMER_DEFAULTS",
    "PRODUCER_DEFAULTS",
    "ClientSettingError",
    "Kind",
    "Translated",
    "client_login",
    "client_settings",
    "task_client_settings",
    "task_java_settings",
    "translate",
    "unknown_setting",
]

# Java's partitions, order and durability, which are not librdkafka's defaults.
PRODUCER_DEFAULTS: Mapping[str, Value] = {
    "partitioner": "murmur2_random",
    "acks": -1,
    "enable.idempotence": True,
    "message.timeout.ms": 0,  # never give up: a record is written, or the task fails
    "queue.buffering.max.messages": 0,  # no limit by number,
    "queue.buffering.max.kbytes": 32768,  # only by bytes: Java's buffer.memory
    "linger.ms": 5,
    "message.max.bytes": 1048576,  # Java's max.request.size; librdkafka's is smaller
}
CONSUMER_DEFAULTS: Mapping[str, Value] = {
    "enable.auto.commit": False,
    "auto.offset.reset": "earliest",
    "isolation.level": "read_uncommitted",
    "allow.auto.create.topics": True,
    "fetch.queue.backoff.ms": 5,  # at librdkafka's 1000 a full queue makes the fetcher sleep for a second
    # Twice Java's and librdkafka's, for a consumer that has nothing to read: it costs half, and records come as soon.
    "fetch.wait.max.ms": 1000,
    # As a worker's own, and Java's until 3.0: who takes over a sink task of a dead worker waits for its member's end.
    "session.timeout.ms": 10_000,
    "queued.max.messages.kbytes": 65536,
    "enable.partition.eof": False,
}
_DEFAULTS: Mapping[Kind, Mapping[str, Value]] = {
    "producer": PRODUCER_DEFAULTS,
    "consumer": CONSUMER_DEFAULTS,
    "admin": {},
}


@dataclass(frozen=True)
class Translated:
    """Settings for a client of confluent-kafka.

    `librdkafka` has each setting under one spelling: Java's where librdkafka knows it as an alias. `runtime` has what
    the loops of this project use (`max.poll.records`). Each warning should be logged, once. `keys` has, for Java keys
    that have a prefix in their file, their spelling there.
    """

    librdkafka: dict[str, Value] = field(repr=False)  # passwords are among them
    warnings: list[str]
    runtime: dict[str, int] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)


def translate(kind: Kind, java: Mapping[str, str]) -> Translated:
    """Translate the given settings, without defaults.

    Raises:
        ClientSettingError: a value is wrong, or a setting requests what librdkafka cannot do.
    """
    return _translate(kind, java, {})


def client_settings(kind: Kind, java: Mapping[str, str]) -> Translated:
    """Translate, with the defaults of every client here. Raises as `translate` does."""
    return _over_defaults(kind, java, {})


def task_client_settings(kind: Kind, worker: Mapping[str, str], connector: Mapping[str, str]) -> Translated:
    """The settings of a task's client: the worker's, its `producer.*`, then the connector's `producer.override.*`.

    As in Kafka Connect an admin client takes everything it knows from the top of the worker's file, the others only
    `bootstrap.servers`. Beyond it, they also take the security settings there as long as `producer.*` (`consumer.*`)
    has none and no brokers of its own. A consumer's group is `connect-<name>` unless set. For a transactional producer
    `producer.override.transactional.id` has to be in `connector`, because other settings depend on it.

    Raises:
        ClientSettingError: as for `translate`; the error names the key as it stands in its file.
    """
    java = task_java_settings(kind, worker, connector)
    own = {key.removeprefix(f"{kind}.") for key in worker if key.startswith(f"{kind}.")}
    prefix = f"{kind}.override."
    override = {key.removeprefix(prefix) for key in connector if key.startswith(prefix)}
    written = {key: f"{kind}.{key}" for key in own} | {key: prefix + key for key in override}
    return _over_defaults(kind, java, written)


def task_java_settings(kind: Kind, worker: Mapping[str, str], connector: Mapping[str, str]) -> dict[str, str]:
    """The input of `task_client_settings`, under Java's keys: for other connections to the brokers of this task.

    Raises:
        ClientSettingError: the connector overrides what no connector may, for any of its clients.
    """
    refuse(connector)
    own = {key.removeprefix(f"{kind}."): value for key, value in worker.items() if key.startswith(f"{kind}.")}
    prefix = f"{kind}.override."
    override = {key.removeprefix(prefix): value for key, value in connector.items() if key.startswith(prefix)}
    top = {key: value for key, value in worker.items() if _inherited(kind, key, own)}
    if kind == "consumer" and "name" in connector:
        top["group.id"] = f"connect-{connector['name']}"
    if kind == "consumer" and connector.get("topics.regex"):
        top["exclude.internal.topics"] = "true"  # Java's default; a pattern could match them
    return trimmed(top | own | override)


def client_login(java: Mapping[str, str]) -> tuple[str, str]:
    """User name and password of a client's PLAIN or SCRAM login, for servers beside the brokers that accept the same.

    Raises:
        ClientSettingError: there is no login of that kind. Its message shows nothing of it.
    """
    key = "sasl.jaas.config"
    rule = RULES["admin"][key]
    assert isinstance(rule, Computed)
    found = rule.entries(key, java[key], java) if java.get(key) else {}
    if "sasl.username" not in found:
        raise ClientSettingError(key, "it holds no username and password, which are asked for here")
    return found["sasl.username"], found.get("sasl.password", "")


def unknown_setting(kind: Kind, key: str) -> str | None:
    """What to tell of a key that is a setting neither of Java's client nor of librdkafka; None of one that is."""
    if key in RULES[kind] or key in PROPERTIES:
        return None
    near = difflib.get_close_matches(key, [*RULES[kind], *PROPERTIES], 1)
    return f"no {kind} knows it" + (f"; did you mean {near[0]}?" if near else "")


def _inherited(kind: Kind, key: str, own: Mapping[str, str]) -> bool:
    if kind == "admin":
        return isinstance(RULES["admin"].get(key), Mapped | Computed | Refused)
    if key == "bootstrap.servers":
        return True
    return _is_security(key) and not any(_is_security(mine) or mine == "bootstrap.servers" for mine in own)


def _is_security(key: str) -> bool:
    return key == "security.protocol" or key.startswith(("ssl.", "sasl."))


def _over_defaults(kind: Kind, java: Mapping[str, str], written: Mapping[str, str]) -> Translated:
    given = _translate(kind, java, written)
    settings = {_spelling(name): value for name, value in _DEFAULTS[kind].items()} | given.librdkafka
    warnings = list(given.warnings)
    if kind == "consumer":
        _fit_session(settings, given.librdkafka)
    if kind == "producer":
        warnings += _fit_idempotence(settings, given.librdkafka, written)
        warnings += _fit_transaction(settings, written)
    return Translated(settings, warnings, given.runtime, written)


def _fit_session(settings: dict[str, Value], given: Mapping[str, Value]) -> None:
    """The default session, shorter than Java's, gets longer where the broker or the requested heartbeats need it."""
    ours = "session.timeout.ms"
    if ours not in given and ("heartbeat.interval.ms" in given or given.get("group.protocol") == "consumer"):
        del settings[ours]


def _fit_idempotence(settings: dict[str, Value], given: Mapping[str, Value], written: Mapping[str, str]) -> list[str]:
    """As in Java another setting may disable idempotence, unless that was requested, which is an error."""
    in_flight = "max.in.flight.requests.per.connection"
    against = next(
        (
            name
            for name, fits in (
                ("acks", given.get("acks", -1) == -1),
                ("retries", given.get("retries", 1) != 0),
                (in_flight, int(given.get(in_flight, 5)) <= 5),
            )
            if not fits
        ),
        None,
    )
    if against and given.get("enable.idempotence"):
        raise ClientSettingError(
            written.get(against, against),
            "enable.idempotence=true needs acks=all, retries above 0 and 5 in flight or less",
        )
    if against:
        settings["enable.idempotence"] = False
    if settings["enable.idempotence"]:
        return []
    settings.setdefault(in_flight, 1)  # so that a repetition cannot overtake
    cause = against or "enable.idempotence"
    return [f"{written.get(cause, cause)}: the producer is not idempotent, so a record may be written twice or be lost"]


def _fit_transaction(settings: dict[str, Value], written: Mapping[str, str]) -> list[str]:
    """No transactional producer of librdkafka retries for longer than a transaction may last."""
    timeout, longest = "delivery.timeout.ms", settings.get("transaction.timeout.ms", 60000)
    if "transactional.id" not in settings or float(settings[timeout]) <= float(longest):
        return []
    settings[timeout] = longest
    return [f"{written.get(timeout, timeout)}: a transaction does not last as long; {longest} is used"]


def _translate(kind: Kind, java: Mapping[str, str], written: Mapping[str, str]) -> Translated:
    """`written` has the key as it stands in the user's file, for errors and warnings."""
    settings: dict[str, Value] = {}
    runtime: dict[str, int] = {}
    warnings: list[str] = []
    native: dict[str, str] = {}
    for key, value in java.items():
        shown = written.get(key, key)
        if why := never(key, value):
            raise ClientSettingError(shown, why)
        match RULES[kind].get(key):
            case Mapped() | Computed() as rule:
                try:
                    entries = rule.entries(key, value, java)
                except ClientSettingError as error:
                    raise ClientSettingError(written.get(error.key, error.key), error.message) from None
                for name, text in entries.items():
                    settings[_spelling(name)] = _parsed(name, text, shown, warnings)
            case OfRuntime():
                runtime[key] = whole_number(shown, value)
            case NoEffect(reason, unless) if value.strip() not in unless:
                warnings.append(f"{shown}: it has no effect: {reason}")
            case Refused(advice, unless) if value.strip() not in unless:
                raise ClientSettingError(shown, advice)
            case None:
                native[key] = value
    # librdkafka's own spelling says more exactly what is wanted, so it comes last.
    for key, value in native.items():
        shown = written.get(key, key)
        if unknown := unknown_setting(kind, key):
            warnings.append(f"{shown}: it has no effect: {unknown}")
        elif PROPERTIES[key].scope not in {"any", kind}:
            warnings.append(f"{shown}: it has no effect: it is a setting of a {PROPERTIES[key].scope}")
        else:
            settings[_spelling(key)] = _parsed(key, value.strip(), shown, warnings)
    return Translated(settings, warnings, runtime)


def _parsed(name: str, text: str, shown: str, warnings: list[str]) -> Value:
    try:
        value, note = PROPERTIES[name].parse(text)
    except ValueError as error:
        raise ClientSettingError(shown, f"{error}") from None
    if note:
        warnings.append(f"{shown}: {note}")
    return value


def _spelling(name: str) -> str:
    """One spelling for all aliases of a setting."""
    canonical = PROPERTIES[name].alias_of or name
    return _JAVA_SPELLING.get(canonical, canonical)


_JAVA_SPELLING = {
    known.alias_of: name
    for name, known in PROPERTIES.items()
    if known.alias_of and any(name in rules for rules in RULES.values())
}
