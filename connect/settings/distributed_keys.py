"""The keys of distributed workers only: the group, the topics, signed requests, the group's client.

https://kafka.apache.org/documentation/#connectconfigs
"""

from __future__ import annotations

from typing import Final

from connect.settings.definition import Definition, define
from connect.settings.options import Options
from connect.settings.setting import Int, List, Long, Setting, Short, String
from connect.settings.validators import at_least, between, non_empty, one_of, partitions, replication_factor, topic_name


def _milliseconds(name: str, default: int, doc: str) -> Setting[int]:
    return Long(name, default=default, importance="LOW", validator=at_least(0), doc=doc)


def _bytes(name: str, default: int, doc: str) -> Setting[int]:
    return Int(name, default=default, validator=at_least(-1), doc=f"{doc}; -1 leaves it to the operating system.")


#: Settings of the worker's connection to its group and topics; a standalone worker's admin client takes them too.
CLIENT: Final = define(
    String("client.id", default="", importance="LOW", doc="A name that brokers' logs show for the worker's requests."),
    String(
        "security.protocol",
        default="PLAINTEXT",
        validator=one_of("SASL_SSL", "PLAINTEXT", "SSL", "SASL_PLAINTEXT", ignore_case=True),
        doc="The protocol for brokers; ssl.* and sasl.* have the details.",
    ),
    Long("connections.max.idle.ms", default=540_000, doc="Milliseconds after which an idle connection is closed."),
    Int(
        "request.timeout.ms",
        default=40_000,
        validator=at_least(0),
        doc="The time limit of a request, in milliseconds.",
    ),
    _milliseconds("metadata.max.age.ms", 300_000, "Milliseconds after which what is known of brokers is asked again."),
    _milliseconds(
        "metadata.recovery.rebootstrap.trigger.ms", 300_000, "Milliseconds without metadata before starting afresh."
    ),
    String(
        "metadata.recovery.strategy",
        default="rebootstrap",
        importance="LOW",
        validator=one_of("REBOOTSTRAP", "NONE", ignore_case=True),
        doc="What to do when no known broker answers: start afresh from bootstrap.servers, or fail.",
    ),
    _milliseconds("reconnect.backoff.ms", 50, "Milliseconds before a broker is connected to again."),
    _milliseconds("reconnect.backoff.max.ms", 1_000, "The longest of these pauses, which double."),
    _milliseconds("retry.backoff.ms", 100, "Milliseconds before a request is sent again."),
    _milliseconds("retry.backoff.max.ms", 1_000, "The longest of these pauses, which double."),
    Long("socket.connection.setup.timeout.ms", default=10_000, importance="LOW", doc="Milliseconds to connect in."),
    Long("socket.connection.setup.timeout.max.ms", default=30_000, importance="LOW", doc="The longest of these times."),
    _bytes("send.buffer.bytes", 131_072, "The size of TCP's buffer for sending"),
    _bytes("receive.buffer.bytes", 32_768, "The size of TCP's buffer for receiving"),
)


def _topic(what: str, count: int | None, doc: str) -> Definition:
    """A topic of the workers; `config` always has one partition."""
    name = f"{what}.storage"
    topic = String(f"{name}.topic", importance="HIGH", validator=topic_name, doc=doc)
    factor = Short(
        f"{name}.replication.factor",
        default=3,
        importance="LOW",
        validator=replication_factor,
        doc="Its replicas, if the worker creates it; -1 leaves it to the broker.",
    )
    if count is None:
        return define(topic, factor)
    return define(
        topic,
        factor,
        Int(
            f"{name}.partitions",
            default=count,
            importance="LOW",
            validator=partitions,
            doc="Its partitions, if the worker creates it; -1 leaves it to the broker.",
        ),
    )


_INT_MAX = 2**31 - 1


class SigningOptions(Options):
    """How requests between workers are signed."""

    key_algorithm = String(
        "inter.worker.key.generation.algorithm",
        default="HmacSHA256",
        importance="LOW",
        doc="The algorithm that makes the key for signing requests between workers.",
    )
    key_size = Int(
        "inter.worker.key.size",
        default=None,
        importance="LOW",
        validator=at_least(40),
        doc="Its size in bits; empty for the usual one.",
    )
    key_ttl_ms = Int(
        "inter.worker.key.ttl.ms",
        default=3_600_000,
        importance="LOW",
        validator=between(0, _INT_MAX),
        doc="Milliseconds after which the leader makes a new one.",
    )
    algorithm = String(
        "inter.worker.signature.algorithm",
        default="HmacSHA256",
        importance="LOW",
        doc="The algorithm that signs requests between workers.",
    )
    verified_algorithms = List(
        "inter.worker.verification.algorithms",
        default=["HmacSHA256"],
        importance="LOW",
        doc="The algorithms of other workers' signatures that the worker accepts.",
    )


class HistoryOptions(Options):
    """The history of connectors' configurations. Java's workers do not know it."""

    versions = Int(
        "config.history.versions",
        default=50,
        importance="LOW",
        validator=at_least(0),
        doc="How many versions of each connector's configuration are kept, with their authors and times; 0 keeps none. "
        "Only here, not in Kafka.",
    )
    topic = String(
        "config.history.topic",
        default=None,
        importance="LOW",
        validator=topic_name,
        doc="The topic of these versions: compacted, one partition, secrets as written. By default the name of "
        "config.storage.topic with -history at its end. Only here, not in Kafka.",
    )

    def topic_beside(self, config_topic: str) -> str:
        """The topic of the versions, for a worker with this config topic."""
        return self.topic or f"{config_topic}-history"


DISTRIBUTED_ONLY: Final = (
    _topic("config", None, "The topic of connectors' configurations: compacted, one partition.")
    | _topic("offset", 25, "The topic of source connectors' offsets: compacted.")
    | _topic("status", 5, "The topic of connectors' and tasks' states: compacted.")
    | define(
        String("group.id", importance="HIGH", validator=non_empty, doc="The name of the group of workers."),
        Int(
            "session.timeout.ms",
            default=10_000,
            importance="HIGH",
            doc="Milliseconds without a heartbeat after which the group removes a worker.",
        ),
        Int("heartbeat.interval.ms", default=3_000, importance="HIGH", doc="Milliseconds between two heartbeats."),
        Int(
            "rebalance.timeout.ms",
            default=60_000,
            importance="HIGH",
            doc="Milliseconds in which a worker must stop what it gives away, and join again.",
        ),
        Int(
            "scheduled.rebalance.max.delay.ms",
            default=300_000,
            importance="LOW",
            validator=between(0, _INT_MAX),
            doc="Milliseconds that the tasks of a worker that left wait for it to return.",
        ),
        String(
            "connect.protocol",
            default="sessioned",
            importance="LOW",
            validator=one_of("eager", "compatible", "sessioned"),
            doc="How workers share connectors and tasks; sessioned also signs the requests between them.",
        ),
        String(
            "exactly.once.source.support",
            default="disabled",
            importance="HIGH",
            validator=one_of("DISABLED", "ENABLED", "PREPARING", ignore_case=True),
            doc="Whether source connectors may write exactly once. First preparing on all workers, then enabled.",
        ),
        Int("worker.sync.timeout.ms", default=3_000, doc="Milliseconds to catch up with the configurations."),
        Int(
            "worker.unsync.backoff.ms",
            default=300_000,
            doc="Only for connect.protocol=eager, where the worker refuses it: a worker that cannot catch up with the "
            "configurations stays in the group, and retries after worker.sync.timeout.ms.",
        ),
    )
    | SigningOptions.definition()
    | HistoryOptions.definition()
)
