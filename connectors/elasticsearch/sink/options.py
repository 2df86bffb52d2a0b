"""What the keys of a sink say, typed, and what they contradict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from connect import ConfigError
from connect.data.evolution_policy import EvolutionPolicy
from connect.settings import Config
from connectors.elasticsearch.cluster.keys import ClusterSettings, cluster_problems
from connectors.elasticsearch.sink.keys import DELETE, FAIL, IGNORE, INSERT, POLICY, SCRIPT, CommonOptions

#: Where ids come from.
BY_KEY: Final = "key"
BY_PLACE: Final = "place"
BY_CLUSTER: Final = "cluster"


class SinkOptions(CommonOptions):
    """The keys as values, of a configuration that one of the two definitions has parsed.

    Attributes:
        method: insert, upsert or script.
        script: what stands under "script" in an update, None for other methods; its params are added.
        keyed: whether key.ignore is false.
        ids: BY_KEY, BY_PLACE or BY_CLUSTER, for topics that are not in `keyless`, and for those that are.
        resources: the existing target of each topic; empty: none are given.
        resource_kind: of these: index, data_stream or alias.
        stream: the format of data streams' names, None where documents go to indices.
        time_fields: of data streams, see data.stream.timestamp.field.
        time_field: where the time is put: @timestamp.
        nulls, malformed, conflicts: a word each, see behavior.on.*.
        flush_timeout: seconds.
        policy: how indices may be changed, and what happens to records that do not fit.
    """

    def __init__(self, config: Config) -> None:
        """Take parsed values.

        Raises:
            ConfigError: they contradict each other.
        """
        super().__init__(config)
        for key, why in problems(config):
            raise ConfigError(key, why)
        open_search = "aws.region" in config
        self.cluster = ClusterSettings.of(config, connections=self.in_flight)
        self.flush_timeout: float = config["flush.timeout.ms"] / 1000
        self.method = str(config["index.write.method" if open_search else "write.method"]).lower()
        inline = {"lang": self.script_lang, "source": self.script_source}
        self.script = ({"id": self.script_id} if self.script_id else inline) if self.method == SCRIPT else None
        self.keyed = not self.key_ignored
        self.ids_if_keyless = _ids_if_keyless(config)
        self.ids = BY_KEY if self.keyed else self.ids_if_keyless
        self.resources = dict(map(pair, _resources(config)))
        self.resource_kind = _resource_kind(config)
        self.stream = _stream(config)
        self.stream_template: str | None = config.get("data.streams.existing.index.template.name")
        time = config["data.stream.timestamp.field"]
        self.time_fields: tuple[str, ...] = () if open_search else tuple(time)
        self.time_field: str = time if open_search else "@timestamp"
        self.nulls = _word(self.written_nulls, IGNORE if open_search else FAIL)
        self.malformed = _word(self.written_malformed, POLICY)
        self.conflicts = _word(self.written_conflicts, IGNORE)
        self.policy = EvolutionPolicy.of(config)

    def ids_of(self, topic: str) -> str:
        """Where the ids of a topic's documents come from."""
        found = self.ids_if_keyless if topic in self.keyless else self.ids
        # A data stream has an id once: all but the first record of a key would be refused.
        return BY_PLACE if self.to_streams and found == BY_KEY else found

    def versioned(self, topic: str) -> bool:
        """Whether a topic's documents have versions: the cluster then refuses older ones, whatever comes first."""
        return self.method == INSERT and self.keyed and topic not in self.keyless and not self.to_streams

    def ordered(self, topic: str) -> bool:
        """Whether the order counts in which a topic's documents come to the cluster.

        Where it refuses older versions it counts only behind a deletion, which it soon forgets.
        """
        return self.ids_of(topic) == BY_KEY and (not self.versioned(topic) or self.nulls == DELETE)

    @property
    def to_streams(self) -> bool:
        """Whether documents go to data streams, which take new ones only."""
        return self.stream is not None or self.resource_kind == "data_stream"


def problems(parsed: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Keys that contradict each other, with what to do.

    Args:
        parsed: values by key; keys that could not be parsed are missing.
    """
    found = cluster_problems(parsed)
    mapping = "topic.to.existing.resource.mapping" if "existing.resource.type" in parsed else _CONFLUENTS
    method_key = "index.write.method" if "index.write.method" in parsed else "write.method"
    method = str(parsed.get(method_key, INSERT)).lower()
    pairs = parsed.get(mapping) or []
    for each in pairs:
        topic, resource = pair(each)
        if not (topic and resource):
            found.append((mapping, f'"{each}" is no topic:resource.'))
    if len({pair(each)[0] for each in pairs}) < len(pairs):
        found.append((mapping, "names a topic twice."))
    if len(pairs) > parsed.get("max.external.resource.mappings", len(pairs)):
        found.append((mapping, f"has {len(pairs)} pairs, more than max.external.resource.mappings."))
    kind = _resource_kind(parsed)
    if kind and not pairs:
        found.append((mapping, "is missing: write topic:resource for every topic."))
    if pairs and not kind:
        of = "existing.resource.type" if mapping != _CONFLUENTS else "external.resource.usage"
        found.append((of, f"says that {mapping} is not used. Say what it names, or leave it out."))
    streams = _stream(parsed) is not None or kind == "data_stream"
    if streams and method != INSERT:
        found.append((method_key, f"{method} cannot be done in a data stream, which takes new documents only."))
    if streams and str(parsed.get("behavior.on.null.values")).lower() == DELETE:
        found.append(("behavior.on.null.values", "delete cannot be done in a data stream."))
    if kind and _stream(parsed) is not None:
        key = "data.stream.enabled" if "data.stream.enabled" in parsed else "data.stream.type"
        found.append((key, f"and {mapping} both name targets: leave one of them out."))
    stream_type = str(parsed.get("data.stream.type", "none")).lower()
    if stream_type != "none" and not parsed.get("data.stream.dataset"):
        found.append(("data.stream.dataset", "is missing: data.stream.type needs it."))
    found += _about_documents(parsed, method, method_key)
    return found


def _about_documents(parsed: Mapping[str, Any], method: str, method_key: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    if "key.ignore" in parsed and _ids_if_keyless(parsed) == BY_CLUSTER:
        key = "use.autogenerated.ids" if parsed.get("use.autogenerated.ids") else "key.ignore.id.strategy"
        if not parsed["key.ignore"] and not parsed.get("topic.key.ignore"):
            found.append((key, "needs key.ignore=true: else the key is the id."))
        if method != INSERT:
            found.append((key, f"and {method_key}={method} exclude each other: it needs to know which document it is."))
    if method == SCRIPT and bool(parsed.get("script.source")) == bool(parsed.get("script.id")):
        found.append(("script.source", f"{method_key}=script needs one of script.source and script.id."))
    if str(parsed.get("routing.type", "none")).lower() == "value" and not parsed.get("routing.type.record.value.path"):
        found.append(("routing.type.record.value.path", "is missing: routing.type=value needs a field."))
    return found


_CONFLUENTS: Final = "topic.to.external.resource.mapping"


def _ids_if_keyless(parsed: Mapping[str, Any]) -> str:
    if parsed.get("use.autogenerated.ids"):
        return BY_CLUSTER
    strategy = str(parsed.get("key.ignore.id.strategy", "topic.partition.offset")).lower()
    return {"none": BY_CLUSTER, "record.key": BY_KEY}.get(strategy, BY_PLACE)


def _resources(parsed: Mapping[str, Any]) -> list[str]:
    found: list[str] = parsed.get(_CONFLUENTS) or parsed.get("topic.to.existing.resource.mapping") or []
    return found


def _resource_kind(parsed: Mapping[str, Any]) -> str:
    """index, data_stream, alias, alias_stream; empty where no resources are given."""
    word = str(parsed.get("external.resource.usage") or parsed.get("existing.resource.type") or "none").lower()
    kinds = {"datastream": "data_stream", "alias_index": "alias", "alias_datastream": "data_stream"}
    return kinds.get(word, "" if word in ("none", "disabled") else word)


def _stream(parsed: Mapping[str, Any]) -> str | None:
    """The format of data streams' names; ${topic} is the topic."""
    if parsed.get("data.stream.enabled"):
        prefix = parsed.get("data.stream.prefix")
        return f"{prefix}-${{topic}}" if prefix else "${topic}"
    kind = str(parsed.get("data.stream.type", "none")).lower()
    if kind == "none":
        return None
    return f"{kind}-{parsed.get('data.stream.dataset', '')}-{parsed.get('data.stream.namespace', '')}"


def pair(written: str) -> tuple[str, str]:
    """A topic and what it goes to."""
    topic, _, resource = written.partition(":")
    return topic.strip(), resource.strip()


def _word(written: str | None, default: str) -> str:
    word = (written or "default").lower()
    return default if word == "default" else word
