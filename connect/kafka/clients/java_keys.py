"""Every setting of Java's producer, consumer and admin client of Kafka 4.3, and what it becomes here.

https://kafka.apache.org/documentation/#producerconfigs (and #consumerconfigs, #adminclientconfigs). The settings of
ssl.* and sasl.* are in `security_keys`.
"""

from __future__ import annotations

from collections.abc import Mapping

from connect.kafka.clients.java_rules import (
    ClientSettingError,
    Computed,
    Kind,
    Mapped,
    NoEffect,
    OfRuntime,
    Refused,
    Rule,
    listed,
    whole_number,
)
from connect.kafka.clients.security_keys import SECURITY

_ASSIGNORS = {
    "org.apache.kafka.clients.consumer.RangeAssignor": "range",
    "org.apache.kafka.clients.consumer.RoundRobinAssignor": "roundrobin",
    "org.apache.kafka.clients.consumer.CooperativeStickyAssignor": "cooperative-sticky",
    "range": "range",
    "roundrobin": "roundrobin",
    "cooperative-sticky": "cooperative-sticky",
}
# librdkafka's response limit when nobody sets it, and what it wants to have beside the records of a fetch.
_RESPONSE_LIMIT = 100_000_000
_RESPONSE_OVERHEAD = 512


def _buffer_memory(key: str, value: str, java: Mapping[str, str]) -> dict[str, str]:
    kilobytes = -(-whole_number(key, value) // 1024)
    return {"queue.buffering.max.kbytes": str(max(kilobytes, 1))}


def _delivery_timeout(key: str, value: str, java: Mapping[str, str]) -> dict[str, str]:
    if whole_number(key, value) <= 0:
        raise ClientSettingError(key, "it must be above 0; leave it out to wait as long as it takes")
    return {"delivery.timeout.ms": value}


def _metadata_max_age(key: str, value: str, java: Mapping[str, str]) -> dict[str, str]:
    # librdkafka's metadata.max.age.ms is how long its cache holds; Java's is how often metadata is asked for.
    return {"topic.metadata.refresh.interval.ms": str(max(whole_number(key, value), 1))}


def _compression_level(codec: str) -> Computed:
    def compute(key: str, value: str, java: Mapping[str, str]) -> dict[str, str]:
        used = java.get("compression.type", java.get("compression.codec", "none"))
        return {"compression.level": value} if used.strip().lower() == codec else {}

    return Computed(compute)


def _ignore_keys(key: str, value: str, java: Mapping[str, str]) -> dict[str, str]:
    return {"partitioner": "random"} if value.strip().lower() == "true" else {}


def _internal_topics(key: str, value: str, java: Mapping[str, str]) -> dict[str, str]:
    internal = "^__consumer_offsets$,^__transaction_state$,^__share_group_state$"
    return {"topic.blacklist": internal} if value.strip().lower() == "true" else {}


def _fetch_max(key: str, value: str, java: Mapping[str, str]) -> dict[str, str]:
    limit = whole_number(key, value) + _RESPONSE_OVERHEAD
    larger = {"receive.message.max.bytes": str(limit)} if limit > _RESPONSE_LIMIT else {}
    return {"fetch.max.bytes": value} | larger


def _auto_offset_reset(key: str, value: str, java: Mapping[str, str]) -> dict[str, str]:
    if value.strip().lower().startswith("by_duration"):
        raise ClientSettingError(key, "librdkafka cannot start by duration; write earliest, latest or none")
    return {"auto.offset.reset": "error" if value.strip().lower() == "none" else value}


def _assignors(key: str, value: str, java: Mapping[str, str]) -> dict[str, str]:
    names = []
    for item in listed(value):
        if item not in _ASSIGNORS:
            known = ", ".join(name for name in _ASSIGNORS if "." in name)
            raise ClientSettingError(key, f'"{item}" is not available; there are {known}')
        names.append(_ASSIGNORS[item])
    # Java's list of both is a bridge for an upgrade, on which the eager ones win; librdkafka refuses a mixture.
    eager = [name for name in names if name != "cooperative-sticky"]
    return {key: ",".join(eager or names)}


def _only_classic(key: str, value: str, java: Mapping[str, str]) -> dict[str, str]:
    if java.get("group.protocol", "").strip().lower() == "consumer":
        raise ClientSettingError(key, "the broker decides it under group.protocol=consumer; remove one of the two")
    return _assignors(key, value, java) if key == "partition.assignment.strategy" else {key: value}


def _bytes_class(side: str) -> Refused:
    name = f"ByteArray{side}"
    package = "org.apache.kafka.common.serialization."
    return Refused(f"converters make the bytes; set a converter and leave {name} in place", (package + name, name))


_COMMON: dict[str, Rule] = {
    **SECURITY,
    "bootstrap.servers": Computed(lambda _, value, __: {"bootstrap.servers": ",".join(listed(value))}),
    "client.dns.lookup": Mapped("client.dns.lookup"),
    "client.id": Mapped("client.id"),
    "config.providers": NoEffect("the worker's config providers have replaced the variables already", ("",)),
    "connections.max.idle.ms": Mapped("connections.max.idle.ms", {"-1": "0"}),
    "enable.metrics.push": Mapped("enable.metrics.push"),
    "metadata.max.age.ms": Computed(_metadata_max_age),
    "metadata.recovery.rebootstrap.trigger.ms": Mapped("metadata.recovery.rebootstrap.trigger.ms"),
    "metadata.recovery.strategy": Mapped("metadata.recovery.strategy"),
    "metric.reporters": NoEffect("it names Java classes; our metrics are exported by the worker", ("",)),
    "metrics.num.samples": NoEffect("it concerns the metrics of Java's clients"),
    "metrics.recording.level": NoEffect("it concerns the metrics of Java's clients"),
    "metrics.sample.window.ms": NoEffect("it concerns the metrics of Java's clients"),
    "receive.buffer.bytes": Mapped("socket.receive.buffer.bytes", {"-1": "0"}),
    "reconnect.backoff.max.ms": Mapped("reconnect.backoff.max.ms"),
    "reconnect.backoff.ms": Mapped("reconnect.backoff.ms"),
    "request.timeout.ms": Mapped("socket.timeout.ms"),
    "retry.backoff.max.ms": Mapped("retry.backoff.max.ms"),
    "retry.backoff.ms": Mapped("retry.backoff.ms"),
    "send.buffer.bytes": Mapped("socket.send.buffer.bytes", {"-1": "0"}),
    "socket.connection.setup.timeout.max.ms": NoEffect("librdkafka does not lengthen the time to connect"),
    "socket.connection.setup.timeout.ms": Mapped("socket.connection.setup.timeout.ms"),
}

_PRODUCER: dict[str, Rule] = {
    "acks": Mapped("acks", {"all": "-1"}),
    "batch.size": Mapped("batch.size"),
    "buffer.memory": Computed(_buffer_memory),
    "compression.gzip.level": _compression_level("gzip"),
    "compression.lz4.level": _compression_level("lz4"),
    "compression.type": Mapped("compression.type"),
    "compression.zstd.level": _compression_level("zstd"),
    "delivery.timeout.ms": Computed(_delivery_timeout),
    "enable.idempotence": Mapped("enable.idempotence"),
    "interceptor.classes": Refused("a Java interceptor cannot run here; write a transformation", ("",)),
    "key.serializer": _bytes_class("Serializer"),
    "linger.ms": Mapped("linger.ms"),
    "max.block.ms": NoEffect("a full buffer pauses the task until there is room"),
    "max.in.flight.requests.per.connection": Mapped("max.in.flight.requests.per.connection"),
    "max.request.size": Mapped("message.max.bytes"),
    "metadata.max.idle.ms": NoEffect("librdkafka keeps the metadata of every topic it has written to"),
    "partitioner.adaptive.partitioning.enable": NoEffect("records without a key are spread evenly", ("false",)),
    "partitioner.availability.timeout.ms": NoEffect("records without a key are spread evenly", ("0",)),
    "partitioner.class": Refused(
        "a Java partitioner cannot run here; leave it out for Java's own partitions, or set partitioner=random",
        ("",),
    ),
    "partitioner.ignore.keys": Computed(_ignore_keys),
    "request.timeout.ms": Mapped("socket.timeout.ms request.timeout.ms"),
    "retries": Mapped("retries"),
    "transaction.timeout.ms": Mapped("transaction.timeout.ms"),
    "transaction.two.phase.commit.enable": Refused("librdkafka has no two-phase commit; set it to false", ("false",)),
    "transactional.id": Mapped("transactional.id"),
    "value.serializer": _bytes_class("Serializer"),
}

_CONSUMER: dict[str, Rule] = {
    "allow.auto.create.topics": Mapped("allow.auto.create.topics"),
    "auto.commit.interval.ms": NoEffect("offsets are committed by the task, every offset.flush.interval.ms"),
    "auto.offset.reset": Computed(_auto_offset_reset),
    "check.crcs": Mapped("check.crcs"),
    "client.rack": Mapped("client.rack"),
    "default.api.timeout.ms": NoEffect("every call of ours brings its own time limit"),
    "enable.auto.commit": Refused(
        "it would commit records that the target does not have yet; leave it out, the task commits", ("false",)
    ),
    "exclude.internal.topics": Computed(_internal_topics),
    "fetch.max.bytes": Computed(_fetch_max),
    "fetch.max.wait.ms": Mapped("fetch.wait.max.ms"),
    "fetch.min.bytes": Mapped("fetch.min.bytes"),
    "group.id": Mapped("group.id"),
    "group.instance.id": Mapped("group.instance.id"),
    "group.protocol": Mapped("group.protocol"),
    "group.remote.assignor": Mapped("group.remote.assignor"),
    "heartbeat.interval.ms": Computed(_only_classic),
    "interceptor.classes": Refused("a Java interceptor cannot run here; write a transformation", ("",)),
    "internal.throw.on.fetch.stable.offset.unsupported": NoEffect("it concerns brokers older than 2.5", ("false",)),
    "isolation.level": Mapped("isolation.level"),
    "key.deserializer": _bytes_class("Deserializer"),
    "max.partition.fetch.bytes": Mapped("max.partition.fetch.bytes"),
    "max.poll.interval.ms": Mapped("max.poll.interval.ms"),
    "max.poll.records": OfRuntime(),
    "partition.assignment.strategy": Computed(_only_classic),
    "session.timeout.ms": Computed(_only_classic),
    "share.acknowledgement.mode": NoEffect("it concerns share groups, which sink connectors do not use"),
    "share.acquire.mode": NoEffect("it concerns share groups, which sink connectors do not use"),
    "value.deserializer": _bytes_class("Deserializer"),
}

_ADMIN: dict[str, Rule] = {
    "bootstrap.controllers": Refused("librdkafka talks to brokers only; set bootstrap.servers", ("",)),
    "default.api.timeout.ms": NoEffect("every call of ours brings its own time limit"),
    "retries": NoEffect("every call of ours is repeated until its time limit"),
}

RULES: Mapping[Kind, Mapping[str, Rule]] = {
    "producer": _COMMON | _PRODUCER,
    "consumer": _COMMON | _CONSUMER,
    "admin": _COMMON | _ADMIN,
}
