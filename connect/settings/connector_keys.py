"""The keys that every connector has, beside its plug-in's own.

https://kafka.apache.org/documentation/#connect_configuring. Groups, order, widths and display names are those that
Kafka's REST API shows, because forms are built from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from connect.settings.definition import Definition, define
from connect.settings.error_keys import PUT_TOLERANCE, RETRY_TOPICS
from connect.settings.isolation_keys import CONNECTOR_ISOLATION
from connect.settings.java_regex import java_regex
from connect.settings.lineage_keys import CONNECTOR_LINEAGE
from connect.settings.raw import comma_separated
from connect.settings.recovery_keys import CONNECTOR_RECOVERY
from connect.settings.setting import Boolean, Class, Int, List, Listed, Long, Setting, Short, String
from connect.settings.validators import (
    at_least,
    connector_name,
    non_empty,
    one_of,
    partitions,
    replication_factor,
    topic_name,
    topic_names,
    unique,
)

_COMMON, _ERRORS = "Common", "Error Handling"


def _version(name: str, order: int, what: str, importance: str = "LOW") -> Setting[Any]:
    return String(
        name,
        default=None,
        importance=importance,
        group=_COMMON,
        order=order,
        width="MEDIUM" if what == "Connector" else "SHORT",
        display_name=f"{what} version",
        doc="Which versions may be used: 1.2 for exactly that, or a range such as [1.0,2.0).",
    )


def _converter(name: str, order: int, what: str) -> Setting[Any]:
    return Class(
        name,
        default=None,
        importance="LOW",
        group=_COMMON,
        order=order,
        width="SHORT",
        display_name=f"{what} converter class",
        doc=f"Converts {what.lower()}s between Kafka's bytes and values. By default the worker's, with its settings.",
    )


#: `errors.*`, for sources and sinks.
ERRORS: Final = define(
    Long(
        "errors.retry.timeout",
        default=0,
        validator=at_least(-1),
        group=_ERRORS,
        order=1,
        width="MEDIUM",
        display_name="Retry Timeout for Errors",
        doc="How long, in milliseconds, the worker retries an operation that failed. 0: never, -1: without end.",
    ),
    Long(
        "errors.retry.delay.max.ms",
        default=60000,
        validator=at_least(1),
        group=_ERRORS,
        order=2,
        width="MEDIUM",
        display_name="Maximum Delay Between Retries for Errors",
        doc="The longest pause between two attempts, in milliseconds. Pauses double from 300 ms, with jitter at the "
        "cap.",
    ),
    String(
        "errors.tolerance",
        default="none",
        validator=one_of("none", "all"),
        group=_ERRORS,
        order=3,
        width="SHORT",
        display_name="Error Tolerance",
        doc="none: the first bad record fails the task. all: bad records are skipped.",
    ),
    Boolean(
        "errors.log.enable",
        default=False,
        group=_ERRORS,
        order=4,
        width="SHORT",
        display_name="Log Errors",
        doc="Log each error with the operation and the record's topic, partition and offset.",
    ),
    Boolean(
        "errors.log.include.messages",
        default=False,
        group=_ERRORS,
        order=5,
        width="SHORT",
        display_name="Log Error Details",
        doc="Add the record's key and value to the log. They may be confidential.",
    ),
)

#: What sources and sinks share.
COMMON: Final = (
    define(
        String(
            "name",
            importance="HIGH",
            group=_COMMON,
            order=1,
            width="MEDIUM",
            display_name="Connector name",
            validator=connector_name,
            doc="The connector's name, unique in the cluster.",
        ),
        String(
            "connector.class",
            importance="HIGH",
            group=_COMMON,
            order=2,
            width="LONG",
            display_name="Connector class",
            validator=non_empty,
            doc="The plug-in: its full name, or a short one such as FileStreamSource.",
        ),
        _version("connector.plugin.version", 3, "Connector", "MEDIUM"),
        Int(
            "tasks.max",
            default=1,
            importance="HIGH",
            group=_COMMON,
            order=4,
            width="SHORT",
            display_name="Tasks max",
            validator=at_least(1),
            doc="The maximum number of tasks.",
        ),
        Boolean(
            "tasks.max.enforce",
            default=True,
            importance="LOW",
            group=_COMMON,
            order=5,
            width="SHORT",
            display_name="Enforce tasks max",
            doc="Whether a connector that makes more tasks than tasks.max fails. Deprecated by Kafka.",
        ),
        _converter("key.converter", 6, "Key"),
        _version("key.converter.plugin.version", 7, "Key converter"),
        _converter("value.converter", 8, "Value"),
        _version("value.converter.plugin.version", 9, "Value converter"),
        _converter("header.converter", 10, "Header"),
        _version("header.converter.plugin.version", 11, "Header converter"),
        List(
            "transforms",
            default=[],
            importance="LOW",
            group="Transforms",
            order=12,
            width="LONG",
            display_name="Transforms",
            validator=unique,
            doc="Aliases of the transformations, in their order. Each has its class in transforms.<alias>.type.",
        ),
        List(
            "predicates",
            default=[],
            importance="LOW",
            group="Predicates",
            order=13,
            width="LONG",
            display_name="Predicates",
            validator=unique,
            doc="Aliases of the predicates that transformations refer to. Each has its class in "
            "predicates.<alias>.type.",
        ),
        String(
            "config.action.reload",
            default="restart",
            importance="LOW",
            group=_COMMON,
            order=14,
            width="MEDIUM",
            display_name="Reload Action",
            validator=one_of("none", "restart"),
            doc="What happens when a value of a config provider expires. It is without effect, as with Kafka Connect's "
            "own providers: values of files, directories and environment variables never expire.",
        ),
        String(
            "connector.language",
            default=None,
            importance="LOW",
            validator=one_of("python", "java"),
            group=_COMMON,
            order=16,
            width="SHORT",
            display_name="Language",
            doc="python or java: which class is meant where plug-ins of both languages have this name. By default the "
            "runtime's own.",
        ),
        String(
            "engine",
            default=None,
            importance="LOW",
            group=_COMMON,
            order=15,
            width="SHORT",
            display_name="Engine",
            doc="What runs the connector: worker (one process a task), or spark (one Spark query, on this machine or a "
            "cluster). By default the worker's engine.default, or what the connector is made for.",
        ),
    )
    | ERRORS
    | CONNECTOR_RECOVERY
    | CONNECTOR_ISOLATION
    | CONNECTOR_LINEAGE
)


def java_pattern(name: str, value: str) -> None:
    """A regular expression, written for Java."""
    java_regex(value)


def _patterns(name: str, value: list[str]) -> None:
    for item in value:
        java_pattern(name, item)


DEAD_LETTER_TOPIC: Final = "errors.deadletterqueue.topic.name"

#: Where records go that are given up (KIP-298).
DEAD_LETTER: Final = define(
    String(
        DEAD_LETTER_TOPIC,
        default="",
        group=_ERRORS,
        order=6,
        width="MEDIUM",
        display_name="Dead Letter Queue Topic Name",
        validator=lambda name, value: topic_name(name, value) if value else None,
        listed=Listed.TOPICS,
        doc="The topic for bad records. Empty: none.",
    ),
    Short(
        "errors.deadletterqueue.topic.replication.factor",
        default=3,
        group=_ERRORS,
        order=7,
        width="MEDIUM",
        display_name="Dead Letter Queue Topic Replication Factor",
        validator=replication_factor,
        doc="Its replicas, if it has to be created.",
    ),
    Int(
        "errors.deadletterqueue.topic.partitions",
        default=1,
        importance="LOW",
        group=_ERRORS,
        order=9,
        width="MEDIUM",
        display_name="Dead Letter Queue Topic Partitions",
        validator=partitions,
        doc="Its partitions, if it has to be created; -1 leaves it to the broker. Kafka Connect makes one.",
    ),
    Boolean(
        "errors.deadletterqueue.context.headers.enable",
        default=False,
        group=_ERRORS,
        order=8,
        width="MEDIUM",
        display_name="Enable Error Context Headers",
        doc="Add headers that say where a record came from and what went wrong.",
    ),
)

_EXACTLY_ONCE = "Exactly Once Support"

#: All keys of a source connector. Kafka Connect has no dead letter queue for it.
SOURCE: Final = (
    COMMON
    | define(
        List(
            "topic.creation.groups",
            default=[],
            importance="LOW",
            group="Topic Creation",
            order=1,
            width="LONG",
            display_name="Topic Creation Groups",
            validator=unique,
            doc="Groups of topics that are created with settings of their own, topic.creation.<group>.*.",
        ),
        String(
            "exactly.once.support",
            default="requested",
            group=_EXACTLY_ONCE,
            order=2,
            width="SHORT",
            display_name="Exactly once support",
            validator=one_of("REQUIRED", "REQUESTED", ignore_case=True),
            doc="required: the worker refuses the connector unless it declares that it can deliver exactly once.",
        ),
        String(
            "transaction.boundary",
            default="poll",
            group=_EXACTLY_ONCE,
            order=3,
            width="SHORT",
            display_name="Transaction Boundary",
            validator=one_of("INTERVAL", "POLL", "CONNECTOR", ignore_case=True),
            doc="Where transactions end: with every poll, after an interval, or where the connector says.",
        ),
        Long(
            "transaction.boundary.interval.ms",
            default=None,
            importance="LOW",
            group=_EXACTLY_ONCE,
            order=4,
            width="SHORT",
            display_name="Transaction boundary interval",
            validator=at_least(0),
            doc="Milliseconds between their ends, with transaction.boundary=interval. By default the worker's "
            "offset.flush.interval.ms.",
        ),
        String(
            "offsets.storage.topic",
            default=None,
            importance="LOW",
            group="offsets.topic",
            order=1,
            width="LONG",
            display_name="Offsets topic",
            validator=non_empty,
            listed=Listed.TOPICS,
            doc="A topic for this connector's offsets, instead of the worker's.",
        ),
    )
    | DEAD_LETTER
)

#: All keys of a sink connector.
SINK: Final = (
    COMMON
    | define(
        List(
            "topics",
            default=[],
            importance="HIGH",
            group=_COMMON,
            order=4,
            width="LONG",
            display_name="Topics",
            validator=topic_names,
            listed=Listed.TOPICS,
            doc="Topics to consume, separated by commas.",
        ),
        String(
            "topics.regex",
            default="",
            importance="HIGH",
            group=_COMMON,
            order=4,
            width="LONG",
            display_name="Topics regex",
            validator=java_pattern,
            doc="A regular expression; the sink consumes topics whose whole name it matches. Instead of topics.",
        ),
    )
    | DEAD_LETTER
    | RETRY_TOPICS
    | PUT_TOLERANCE
)


def creation_groups(config: Mapping[str, Any]) -> list[str]:
    """The groups of `topic.creation.groups` in their order, then `default`, which always exists, as the last."""
    written = comma_separated(str(config.get("topic.creation.groups") or ""))
    return [*dict.fromkeys(name for name in written if name != "default"), "default"]


def topic_creation(config: Mapping[str, Any]) -> Definition:
    """The keys topic.creation.<group>.* of a source connector (KIP-158); none as long as it uses none of them.

    As in Java the patterns of the default group are ignored: it is for all topics of no other group.
    """
    if not any(key.startswith("topic.creation.") for key in config):
        return Definition()
    declared = []
    for alias in ["default", *creation_groups(config)[:-1]]:
        prefix, group, default = f"topic.creation.{alias}", f"Topic Creation: {alias}", alias == "default"
        declared += [
            List(
                f"{prefix}.include",
                default=[".*"] if default else [],
                importance="LOW",
                group=group,
                width="LONG",
                display_name=f"Inclusion Topic Pattern for {alias}",
                validator=None if default else _patterns,
                doc="Regular expressions of the names of topics that the group is for.",
            ),
            List(
                f"{prefix}.exclude",
                default=[],
                importance="LOW",
                group=group,
                width="LONG",
                display_name=f"Exclusion Topic Pattern for {alias}",
                validator=None if default else _patterns,
                doc="Regular expressions of names that it is not for.",
            ),
            Short(
                f"{prefix}.replication.factor",
                **({} if default else {"default": None}),
                importance="LOW",
                group=group,
                width="LONG",
                display_name=f"Replication Factor for Topics in {alias}",
                validator=replication_factor,
                doc="Replicas of topics that are created; -1 leaves it to the broker.",
            ),
            Int(
                f"{prefix}.partitions",
                **({} if default else {"default": None}),
                importance="LOW",
                group=group,
                width="LONG",
                display_name=f"Partition Count for Topics in {alias}",
                validator=partitions,
                doc="Partitions of topics that are created; -1 leaves it to the broker.",
            ),
        ]
    return Definition(declared)


def topic_creation_doubts(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Keys topic.creation.* that work, but probably not as intended: key and message."""
    listed = comma_separated(str(config.get("topic.creation.groups") or ""))
    groups = creation_groups(config)
    doubts = [
        (f"topic.creation.{group}.include", "is not set, so the group is for no topic. Set it.")
        for group in groups[:-1]
        if not str(config.get(f"topic.creation.{group}.include") or "").strip()
    ]
    if "default" in listed:
        doubts.append(("topic.creation.groups", 'names "default", which always is, and the last. Take it out.'))
    for key in config:
        group, _, rest = key.removeprefix("topic.creation.").partition(".")
        if not key.startswith("topic.creation.") or not rest:
            continue
        if group not in groups:
            doubts.append((key, f'has no effect: "{group}" is not among topic.creation.groups. Add it there.'))
        elif group == "default" and rest in {"include", "exclude"}:
            doubts.append((key, "has no effect: the default group is for all topics that no other group is for."))
    return doubts


def topics_at_fault(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Errors of `topics`, `topics.regex` and the dead letter topic taken together: key and message."""
    topics = comma_separated(str(config.get("topics") or ""))
    pattern = str(config.get("topics.regex") or "").strip()
    dead = str(config.get(DEAD_LETTER_TOPIC) or "").strip()
    if topics and pattern:
        return [("topics.regex", "cannot be set together with topics. Remove one of them.")]
    if not topics and not pattern:
        return [("topics", "is missing. Name the topics to consume here, or set topics.regex.")]
    if dead and dead in topics:
        return [("topics", f'holds "{dead}", the dead letter topic, so bad records would come back. Take it out.')]
    if dead and pattern and _matches(pattern, dead):
        why = f'matches "{dead}", the dead letter topic, so bad records would come back without end.'
        return [("topics.regex", f"{why} Choose another name for that topic, or a pattern that excludes it.")]
    return []


def _matches(pattern: str, topic: str) -> bool:
    """Whether a sink with this pattern consumes a topic; what is wrong with the pattern is said of its key."""
    try:
        return java_regex(pattern).fullmatch(topic) is not None
    except ValueError:
        return False
