"""The names of topics at the target, and their origins: replication policies (KIP-382, KIP-690)."""

from __future__ import annotations

from typing import Final

HEARTBEATS: Final = "heartbeats"


class DefaultPolicy:
    """Topics of cluster A are called ``A.topic`` at the target, to distinguish them from its own.

    Args:
        separator: between alias and topic.
        internal: between the parts of the names of internal topics.
    """

    def __init__(self, separator: str = ".", internal: str = ".") -> None:
        self._separator = separator
        self._internal = internal

    def remote(self, alias: str, topic: str) -> str:
        """The name of a topic of that cluster at the target."""
        return f"{alias}{self._separator}{topic}"

    def source(self, topic: str) -> str | None:
        """The alias of the cluster that a topic was copied from; None for one that was not copied."""
        return self._parts(topic)[0]

    def upstream(self, topic: str) -> str | None:
        """The name of a copied topic in the cluster that it came from; None for one that was not copied."""
        return self._parts(topic)[1]

    def _parts(self, topic: str) -> tuple[str, str] | tuple[None, None]:
        alias, _, rest = topic.partition(self._separator)
        # A name that only has separators behind the first part was not copied, as in Java.
        return (alias, rest) if rest.replace(self._separator, "") else (None, None)

    def original(self, topic: str) -> str:
        """The name of a topic in its first cluster."""
        upstream = self.upstream(topic)
        return topic if upstream is None or upstream == topic else self.original(upstream)

    def is_heartbeats(self, topic: str) -> bool:
        """Whether it has heartbeats, of whatever cluster."""
        return self.original(topic) == HEARTBEATS

    def is_internal(self, topic: str) -> bool:
        """Whether it belongs to Kafka or to mirroring itself: these are never copied."""
        mirror = topic.startswith("mm2") and topic.endswith(f"{self._internal}internal")
        checkpoints = topic.endswith(f"checkpoints{self._internal}internal")
        return mirror or checkpoints or topic.startswith(("__", "."))

    def offset_syncs_topic(self, alias: str) -> str:
        """Where offset syncs are kept; the alias is that of the other cluster."""
        return f"mm2-offset-syncs{self._internal}{alias}{self._internal}internal"

    def checkpoints_topic(self, alias: str) -> str:
        """Where the target keeps checkpoints of the groups of that cluster."""
        return f"{alias}{self._internal}checkpoints{self._internal}internal"


class IdentityPolicy(DefaultPolicy):
    """Topics keep their names, except those of heartbeats. Two clusters may then not be mirrored both ways."""

    def __init__(self, separator: str = ".", internal: str = ".", alias: str | None = None) -> None:
        super().__init__(separator, internal)
        self._alias = alias

    def remote(self, alias: str, topic: str) -> str:
        return super().remote(alias, topic) if _like_heartbeats(topic) else topic

    def source(self, topic: str) -> str | None:
        return super().source(topic) if _like_heartbeats(topic) else self._alias

    def upstream(self, topic: str) -> str | None:
        return super().upstream(topic) if _like_heartbeats(topic) else topic


def _like_heartbeats(topic: str) -> bool:
    return topic.endswith(HEARTBEATS)


Policy = DefaultPolicy

_PACKAGE: Final = "org.apache.kafka.connect.mirror."
POLICIES: Final[dict[str, type[DefaultPolicy]]] = {
    f"{package}{name}": policy
    for package in (_PACKAGE, "")
    for name, policy in (("DefaultReplicationPolicy", DefaultPolicy), ("IdentityReplicationPolicy", IdentityPolicy))
}


def is_cycle(policy: Policy, topic: str, target: str) -> bool:
    """Whether a topic was copied from the target, directly or indirectly: it would circulate forever."""
    source = policy.source(topic)
    if source is None:
        return False
    if source == target:
        return True
    upstream = policy.upstream(topic)
    return upstream is not None and upstream != topic and is_cycle(policy, upstream, target)
