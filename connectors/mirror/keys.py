"""The keys of the three mirror connectors: MirrorMaker 2's names and defaults."""

from __future__ import annotations

from typing import Any, Final

from connect import ConfigError, settings
from connect.settings import Config, WithoutEffect
from connect.settings.java_regex import java_regex
from connectors.mirror.policy import POLICIES, DefaultPolicy, IdentityPolicy, Policy

SOURCE: Final = "source"
TARGET: Final = "target"
READ_COMMITTED: Final = "read_committed"
#: How tasks are told their share of the work.
PARTITIONS: Final = "task.assigned.partitions"
GROUPS: Final = "task.assigned.groups"

_PACKAGE: Final = "org.apache.kafka.connect.mirror."
_CLUSTERS, _NAMES, _WHAT, _TOPICS, _SYNCS, _OTHER = "Clusters", "Names", "What", "Topics", "Offsets", "Other"


def _patterns(name: str, values: list[str]) -> None:
    for value in values:
        java_regex(value)


def _servers(name: str, value: str) -> None:
    if not value.strip():
        raise ValueError("it names no broker. Write host:port, several separated by commas.")


def _only(name: str) -> Any:
    """Java's own class is accepted by its name, other ones cannot be loaded."""

    def check(_: str, value: str) -> None:
        if value.rpartition(".")[2] != name:
            raise ValueError(f"the class {value} cannot be loaded here. Leave the key out: {name} is what there is.")

    return check


class MirrorOptions(settings.Options):
    """What the three connectors share.

    Attributes:
        policy: the names of topics at the target.
    """

    source_alias = settings.String(
        "source.cluster.alias",
        importance="HIGH",
        group=_CLUSTERS,
        validator=settings.non_empty,
        doc="The alias of the source cluster. It is the prefix of its topics at the target.",
    )
    target_alias = settings.String(
        "target.cluster.alias",
        default="target",
        importance="HIGH",
        group=_CLUSTERS,
        validator=settings.non_empty,
        doc="The alias of the target cluster: the one whose worker runs the connector.",
    )
    source_servers = settings.String(
        "source.cluster.bootstrap.servers",
        importance="HIGH",
        group=_CLUSTERS,
        validator=_servers,
        doc="Brokers of the source. Everything else under source.cluster. goes to all clients of the source: security, "
        "for example. source.consumer., source.producer. and source.admin. are for one of them, consumer., producer. "
        "and admin. for those of both clusters.",
    )
    target_servers = settings.String(
        "target.cluster.bootstrap.servers",
        importance="HIGH",
        group=_CLUSTERS,
        validator=_servers,
        doc="Brokers of the target, for creating topics and reading groups. Records are written by the "
        "worker's own producer: it must be a worker of this cluster. Other keys work as for the source.",
    )
    enabled = settings.Boolean("enabled", default=True, importance="LOW", group=_OTHER, doc="Whether tasks run at all.")
    admin_timeout = settings.Long(
        "admin.timeout.ms",
        default=60_000,
        importance="LOW",
        group=_OTHER,
        validator=settings.at_least(1),
        convert=settings.seconds,
        doc="The time limit of an admin request to a cluster.",
    )
    policy_class = settings.String(
        "replication.policy.class",
        default=f"{_PACKAGE}DefaultReplicationPolicy",
        importance="LOW",
        group=_NAMES,
        validator=settings.one_of(*POLICIES),
        convert=POLICIES.__getitem__,
        doc="DefaultReplicationPolicy puts the source's alias before the names of topics, IdentityReplicationPolicy "
        "keeps them.",
    )
    separator = settings.String(
        "replication.policy.separator",
        default=".",
        importance="LOW",
        group=_NAMES,
        validator=settings.non_empty,
        doc="The separator between alias and topic.",
    )
    internal_separator = settings.Boolean(
        "replication.policy.internal.topic.separator.enabled",
        default=True,
        importance="LOW",
        group=_NAMES,
        doc="Whether the separator is also that of internal topics; else theirs is a dot.",
    )
    forwarding_admin_class = settings.String(
        "forwarding.admin.class",
        default="org.apache.kafka.clients.admin.ForwardingAdmin",
        importance="LOW",
        group=_OTHER,
        validator=_only("ForwardingAdmin"),
        doc="Without effect: topics are created in the target cluster itself.",
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        internal = self.separator if self.internal_separator else "."
        self.policy: Policy = (
            IdentityPolicy(self.separator, internal, self.source_alias)
            if self.policy_class is IdentityPolicy
            else DefaultPolicy(self.separator, internal)
        )

    def alias(self, side: str) -> str:
        """The alias of the source or the target."""
        return self.source_alias if side == SOURCE else self.target_alias

    def cluster(self, side: str) -> str:
        """A cluster as people find it: its alias and its brokers."""
        servers = self.source_servers if side == SOURCE else self.target_servers
        return f"{self.alias(side)} ({servers})"


class CopyOptions(
    MirrorOptions,
    without_effect={"metric.names.formats": "metrics have the names that `connect docs mirror` tells"},
):
    """What the copying connectors share: which topics, and where offset syncs are."""

    topics = settings.List(
        "topics",
        default=[".*"],
        importance="HIGH",
        group=_WHAT,
        validator=_patterns,
        doc="Topics that are copied: names and regular expressions.",
    )
    topics_excluded = settings.List(
        "topics.exclude",
        default=[r"mm2.*\.internal", r".*\.replica", "__.*"],
        importance="HIGH",
        group=_WHAT,
        validator=_patterns,
        doc="Topics that are not: names and regular expressions. They win over topics.",
    )
    topic_filter_class = settings.String(
        "topic.filter.class",
        default=f"{_PACKAGE}DefaultTopicFilter",
        importance="LOW",
        group=_OTHER,
        validator=_only("DefaultTopicFilter"),
        doc="Without effect: topics and topics.exclude choose.",
    )
    heartbeats_copied = settings.Boolean(
        "heartbeats.replication.enabled",
        default=True,
        importance="LOW",
        group=_WHAT,
        doc="Whether topics of heartbeats are copied even if topics does not name them.",
    )
    syncs_location = settings.String(
        "offset-syncs.topic.location",
        default=SOURCE,
        importance="LOW",
        group=_SYNCS,
        validator=settings.one_of(SOURCE, TARGET),
        doc="The cluster that keeps offset syncs. With target nothing is written at the source. It must be the same "
        "for source and checkpoint connector.",
    )
    poll_timeout = settings.Long(
        "consumer.poll.timeout.ms",
        default=1000,
        importance="LOW",
        group=_OTHER,
        validator=settings.at_least(0),
        convert=settings.seconds,
        doc="How long a poll waits for records.",
    )
    metric_names_formats = settings.List(
        "metric.names.formats",
        default=["legacy"],
        importance="LOW",
        group=_OTHER,
        doc="Without effect: metrics have the names on this page.",
    )

    @property
    def offset_syncs_topic(self) -> str:
        """The topic of offset syncs, in the cluster of `syncs_location`."""
        return self.policy.offset_syncs_topic(self.alias(TARGET if self.syncs_location == SOURCE else SOURCE))


class MirrorSourceOptions(
    CopyOptions,
    without_effect={
        "add.source.alias.to.metrics": WithoutEffect("metrics always have the source's alias", unless=("true",)),
        "use.incremental.alter.configs": "only what differs is altered, each setting by itself",
    },
):
    """The keys of the source connector."""

    refresh_topics = settings.Boolean(
        "refresh.topics.enabled",
        default=True,
        importance="LOW",
        group=_TOPICS,
        doc="Whether to look for new topics and partitions.",
    )
    refresh_topics_seconds = settings.Long(
        "refresh.topics.interval.seconds",
        default=600,
        importance="LOW",
        group=_TOPICS,
        validator=settings.at_least(1),
        doc="How often.",
    )
    sync_configs = settings.Boolean(
        "sync.topic.configs.enabled",
        default=True,
        importance="LOW",
        group=_TOPICS,
        doc="Whether settings of topics are kept as they are at the source.",
    )
    sync_configs_seconds = settings.Long(
        "sync.topic.configs.interval.seconds",
        default=600,
        importance="LOW",
        group=_TOPICS,
        validator=settings.at_least(1),
        doc="How often.",
    )
    properties_excluded = settings.List(
        "config.properties.exclude",
        default=[
            "follower.replication.throttled.replicas",
            "leader.replication.throttled.replicas",
            "message.timestamp.difference.max.ms",
            "log.message.timestamp.before.max.ms",
            "log.message.timestamp.after.max.ms",
            "message.timestamp.type",
            "unclean.leader.election.enable",
            "min.insync.replicas",
        ],
        importance="HIGH",
        group=_TOPICS,
        validator=_patterns,
        doc="Settings of topics that are not copied: names and regular expressions.",
    )
    defaults_from = settings.String(
        "use.defaults.from",
        default=TARGET,
        importance="LOW",
        group=_TOPICS,
        validator=settings.one_of(SOURCE, TARGET),
        doc="What to do with settings at their defaults: target leaves them to the target's brokers, source copies "
        "the defaults of the source's brokers.",
    )
    property_filter_class = settings.String(
        "config.property.filter.class",
        default=f"{_PACKAGE}DefaultConfigPropertyFilter",
        importance="LOW",
        group=_OTHER,
        validator=_only("DefaultConfigPropertyFilter"),
        doc="Without effect: config.properties.exclude chooses.",
    )
    sync_acls = settings.Boolean(
        "sync.topic.acls.enabled",
        default=True,
        importance="LOW",
        group=_TOPICS,
        doc="Whether ACLs of topics are copied: who may read at the source may read at the target. The right to write "
        "is not copied.",
    )
    sync_acls_seconds = settings.Long(
        "sync.topic.acls.interval.seconds",
        default=600,
        importance="LOW",
        group=_TOPICS,
        validator=settings.at_least(1),
        doc="How often.",
    )
    replication = settings.Int(
        "replication.factor",
        default=2,
        importance="LOW",
        group=_TOPICS,
        doc="The replicas of new topics at the target; -1 leaves it to its brokers.",
    )
    emit_syncs = settings.Boolean(
        "emit.offset-syncs.enabled",
        default=True,
        importance="LOW",
        group=_SYNCS,
        doc="Whether offset syncs are written. Without them there are no checkpoints.",
    )
    syncs_topic_replication = settings.Short(
        "offset-syncs.topic.replication.factor",
        default=3,
        importance="LOW",
        group=_SYNCS,
        doc="The replicas of the topic of offset syncs.",
    )
    lag = settings.Long(
        "offset.lag.max",
        default=100,
        importance="LOW",
        group=_SYNCS,
        validator=settings.at_least(0),
        doc="The number of records of a partition between two offset syncs. Fewer give more exact translations.",
    )
    add_alias_to_metrics = settings.Boolean(
        "add.source.alias.to.metrics",
        default=False,
        importance="LOW",
        group=_OTHER,
        doc="Without effect: metrics always have the source's alias.",
    )
    incremental_alter_configs = settings.String(
        "use.incremental.alter.configs",
        default="requested",
        importance="LOW",
        group=_OTHER,
        doc="Without effect: only differing settings are altered, each by itself.",
    )
    assigned_partitions = settings.List(
        PARTITIONS, default=[], internal=True, doc="The share of a task: topic-partition."
    )

    def check(self) -> None:
        """Check the keys together.

        Raises:
            ConfigError: they contradict each other.
        """
        if self.emit_syncs:
            return
        for key in ("emit.checkpoints.enabled", "sync.group.offsets.enabled"):
            if (self.config.raw.get(key) or "").strip().lower() == "true":
                raise ConfigError(
                    "emit.offset-syncs.enabled", f"{key} needs offset syncs. Write true, or switch that off."
                )


class MirrorCheckpointOptions(CopyOptions):
    """The keys of the checkpoint connector."""

    groups = settings.List(
        "groups",
        default=[".*"],
        importance="HIGH",
        group=_WHAT,
        validator=_patterns,
        doc="Consumer groups that are followed: names and regular expressions.",
    )
    groups_excluded = settings.List(
        "groups.exclude",
        default=["console-consumer-.*", "connect-.*", "__.*"],
        importance="HIGH",
        group=_WHAT,
        validator=_patterns,
        doc="Groups that are not: names and regular expressions. They win over groups.",
    )
    group_filter_class = settings.String(
        "group.filter.class",
        default=f"{_PACKAGE}DefaultGroupFilter",
        importance="LOW",
        group=_OTHER,
        validator=_only("DefaultGroupFilter"),
        doc="Without effect: groups and groups.exclude choose.",
    )
    refresh_groups = settings.Boolean(
        "refresh.groups.enabled",
        default=True,
        importance="LOW",
        group=_WHAT,
        doc="Whether to look for new groups.",
    )
    refresh_groups_seconds = settings.Long(
        "refresh.groups.interval.seconds",
        default=600,
        importance="LOW",
        group=_WHAT,
        validator=settings.at_least(1),
        doc="How often.",
    )
    emit_checkpoints = settings.Boolean(
        "emit.checkpoints.enabled",
        default=True,
        importance="LOW",
        group=_SYNCS,
        doc="Whether checkpoints are written at the target.",
    )
    emit_checkpoints_seconds = settings.Long(
        "emit.checkpoints.interval.seconds",
        default=60,
        importance="LOW",
        group=_SYNCS,
        validator=settings.at_least(1),
        doc="How often.",
    )
    checkpoints_topic_replication = settings.Short(
        "checkpoints.topic.replication.factor",
        default=3,
        importance="LOW",
        group=_SYNCS,
        doc="The replicas of the topic of checkpoints.",
    )
    sync_offsets = settings.Boolean(
        "sync.group.offsets.enabled",
        default=False,
        importance="LOW",
        group=_SYNCS,
        doc="Whether translated offsets are committed at the target, for groups without members there.",
    )
    sync_offsets_seconds = settings.Long(
        "sync.group.offsets.interval.seconds",
        default=60,
        importance="LOW",
        group=_SYNCS,
        validator=settings.at_least(1),
        doc="How often.",
    )
    assigned_groups = settings.List(GROUPS, default=[], internal=True, doc="The share of a task.")


class MirrorHeartbeatOptions(MirrorOptions):
    """The keys of the heartbeat connector."""

    emit_heartbeats = settings.Boolean(
        "emit.heartbeats.enabled",
        default=True,
        importance="LOW",
        group=_OTHER,
        doc="Whether heartbeats are written.",
    )
    emit_heartbeats_seconds = settings.Long(
        "emit.heartbeats.interval.seconds",
        default=1,
        importance="LOW",
        group=_OTHER,
        validator=settings.at_least(1),
        doc="How often.",
    )
    heartbeats_topic_replication = settings.Short(
        "heartbeats.topic.replication.factor",
        default=3,
        importance="LOW",
        group=_OTHER,
        doc="The replicas of the topic of heartbeats.",
    )
