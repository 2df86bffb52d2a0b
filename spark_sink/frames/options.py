"""The options of `format("connect")`: Kafka Connect's keys, and where reading begins and ends."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal

from connect import settings
from connect.data.record import TopicPartition
from connect.errors import ConfigError
from connect.kafka.clients.settings import Kind, unknown_setting
from connect.kafka.reading.topic_ends import TopicEnds
from connect.plugins import Plugins
from connect.settings.java_regex import java_regex
from connect.settings.raw import comma_separated
from spark_sink.reading.places import places
from spark_sink.reading.plan import ReadPlan
from spark_sink.running_keys import check_places

BYTE_ARRAYS: Final = "org.apache.kafka.connect.converters.ByteArrayConverter"
#: Kafka Connect's keys by their beginnings: each room that reads one checks it.
CONNECT_KEYS: Final = re.compile(
    r"(?:key|value|header)\.converter(?:\..+)?|(?:transforms|predicates)(?:\..+)?|errors\.(?:tolerance|log\.|retry\.(?!topics)"
    r"|deadletterqueue\.).*|consumer\.override\..+|producer\.override\..+"
)
#: Settings of Kafka's clients, as a worker's file has them.
CLIENT_KEYS: Final = re.compile(
    r"bootstrap\.servers|security\.protocol|(?:sasl|ssl)\..+|client\.(?:id|rack|dns\.lookup)|isolation\.level"
)


class FrameOptions(settings.Options):
    """What is read, and how much at once. Kafka Connect's keys of converters, transformations and errors apply too."""

    topics = settings.List("topics", default=[], importance="HIGH", doc="Names of topics.")
    pattern = settings.String(
        "topics.regex", default=None, importance="HIGH", doc="A Java regular expression for the names of topics."
    )
    starting_offsets = settings.String(
        "starting.offsets",
        default=None,
        validator=check_places,
        doc="Where reading begins: earliest (the default of spark.read), latest (that of spark.readStream), or JSON "
        "with an offset for each partition; others begin with their first record. A stream with a checkpoint "
        "continues where that says.",
    )
    ending_offsets = settings.String(
        "ending.offsets",
        default="latest",
        validator=check_places,
        doc="Where spark.read ends: latest, or JSON with the offset after the last one of each partition.",
    )
    starting_timestamp = settings.Long(
        "starting.timestamp",
        default=None,
        validator=settings.at_least(0),
        doc="Begin with the first record of this time or later, in milliseconds since 1970; instead of "
        "starting.offsets.",
    )
    ending_timestamp = settings.Long(
        "ending.timestamp",
        default=None,
        validator=settings.at_least(0),
        doc="End spark.read before the first record of this time or later, in milliseconds since 1970.",
    )
    most_records = settings.Long(
        "max.records.per.batch",
        default=1_000_000,
        validator=settings.at_least(0),
        doc="The most records of one batch of a stream; 0 for no limit.",
    )
    most_bytes = settings.Long(
        "max.bytes.per.batch",
        default=1_073_741_824,
        validator=settings.at_least(0),
        doc="About how many bytes of keys and values one batch of a stream has at most; 0 for no limit.",
    )
    most_per_second = settings.Long(
        "max.records.per.second",
        default=0,
        validator=settings.at_least(0),
        doc="The most records that a stream reads in a second, on average; 0 for no limit.",
    )
    parts = settings.Int(
        "read.parts",
        default=0,
        validator=settings.at_least(0),
        doc="Into how many parts reading is cut for the executors; 0 for one for each 100,000 records.",
    )
    fail_on_data_loss = settings.Boolean(
        "fail.on.data.loss",
        default=True,
        doc="Whether reading fails when records are gone before they were read. If not, it goes on behind them.",
    )


_TOPICS: Final = "topics"
#: What becomes of records that do not fit the columns, for each errors.tolerance.
_MISFITS: Final = {"all": {"schema.evolution.on.mismatch": "quarantine"}}


class Reading:
    """The options of one `load`, checked.

    Args:
        given: as Spark passes them, keys in lower case.

    Attributes:
        options: those of the format.
        decoded: whether values are converted; else they are bytes.

    Raises:
        ConfigError: an option is unknown, missing or wrong.
    """

    def __init__(self, given: Mapping[str, str]) -> None:
        own = FrameOptions.definition()
        names = {setting.name for setting in own}
        for key in given:
            if key not in names and not CONNECT_KEYS.fullmatch(key) and not CLIENT_KEYS.fullmatch(key):
                raise ConfigError(key, f"is not an option of this format. {advice(key, names)}")
        self.options = FrameOptions.parse({key: value for key, value in given.items() if key in names})
        self._given = with_small_aliases(given)
        if "bootstrap.servers" not in given:
            raise ConfigError("bootstrap.servers", "is missing: the brokers, as in localhost:9092.")
        if bool(self.options.topics) == bool(self.options.pattern):
            raise ConfigError(_TOPICS, "is needed, or topics.regex, and not both.")
        if self.options.pattern:
            java_regex(self.options.pattern)
        self.decoded = "value.converter" in given
        for key in given:
            if not self.decoded and CONNECT_KEYS.fullmatch(key) and not key.startswith(("consumer.", "producer.")):
                raise ConfigError(key, "needs value.converter: without it, keys and values are bytes.")

    def plan(self) -> ReadPlan:
        """What to read, without a shape."""
        options = self.options
        clients = {key: value for key, value in self._given.items() if CLIENT_KEYS.fullmatch(key)}
        connector = {key: value for key, value in self._given.items() if CONNECT_KEYS.fullmatch(key)}
        topics = {_TOPICS: ",".join(options.topics)} if options.topics else {"topics.regex": str(options.pattern)}
        worker = {"key.converter": BYTE_ARRAYS, "value.converter": BYTE_ARRAYS, **clients}
        refuse_misspelt(worker, connector, "sink")
        return ReadPlan(
            connector="spark",
            topics=tuple(options.topics),
            pattern=options.pattern or "",
            worker=worker,
            config={"name": "spark", **topics, **connector, **_MISFITS.get(connector.get("errors.tolerance", ""), {})},
            most_records=options.most_records,
            most_bytes=options.most_bytes,
            most_per_second=options.most_per_second,
            parts=options.parts,
            fail_on_data_loss=options.fail_on_data_loss,
        )

    def begins(self, ends: TopicEnds, *, otherwise: str) -> dict[TopicPartition, int]:
        """Where each partition begins.

        Args:
            ends: of the plan's topics.
            otherwise: earliest or latest, where no option says.
        """
        return places(ends, self.options.starting_offsets or otherwise, self.options.starting_timestamp, ends.begins)

    def ends(self, ends: TopicEnds) -> dict[TopicPartition, int]:
        """Where each partition ends for `spark.read`."""
        return places(ends, self.options.ending_offsets, self.options.ending_timestamp, ends.ends)


def refuse_misspelt(worker: Mapping[str, str], config: Mapping[str, str], kind: Literal["source", "sink"]) -> None:
    """Raise ConfigError for a key of a converter, transformation, predicate or client that is probably a mistake."""
    from connect.pipeline.validation import misspelt_keys

    for key, message in misspelt_keys(Plugins.discover([]), worker, config, kind):
        raise ConfigError(key, message)
    client: Kind = "producer" if kind == "source" else "consumer"
    for key in (*worker, *config):
        name = key.removeprefix(f"{client}.override.")
        if (name != key or CLIENT_KEYS.fullmatch(key)) and (unknown := unknown_setting(client, name)):
            raise ConfigError(key, f"is not an option: {unknown}")


def with_small_aliases(given: Mapping[str, str]) -> dict[str, str]:
    """Lowercase aliases in values: Spark lowercases keys, and so the aliases of transformations in them."""
    changed = dict(given)
    for key, value in given.items():
        if key in {"transforms", "predicates"} or re.fullmatch(r"transforms\.[^.]+\.predicate", key):
            changed[key] = value.lower()
    for key in ("transforms", "predicates"):
        aliases = comma_separated(changed.get(key))
        if len(set(aliases)) < len(aliases):
            raise ConfigError(
                key, "has names that differ in upper and lower case only, which Spark does not tell apart."
            )
    return changed


def advice(key: str, names: set[str]) -> str:
    """What to write in place of an unknown option."""
    import difflib

    near = difflib.get_close_matches(key, [*names, "bootstrap.servers", "value.converter", "key.converter"], 1)
    return f"Did you mean {near[0]}?" if near else "`connect docs frames` has all of them."
