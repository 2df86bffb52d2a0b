"""The configuration of a session: the user's `spark.*` keys, and defaults for those that the user leaves out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from connect.settings.raw import comma_separated
from spark_sink.session.masters import MASTER, REMOTE, Kind, Master
from spark_sink.session.settings import OWN

EXTENSIONS: Final = "spark.sql.extensions"
CATALOG: Final = "spark.sql.catalog.spark_catalog"
JARS: Final = "spark.jars"
PACKAGES: Final = "spark.jars.packages"
JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"

CHECKPOINT_FILES: Final = "spark.sql.streaming.checkpointFileManagerClass"
#: Spark's own choice starts a program for each look at a local file, `readlink`: thirty a batch.
_BY_RENAMING: Final = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"

_DELTA = {
    EXTENSIONS: "io.delta.sql.DeltaSparkSessionExtension",
    CATALOG: "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
#: Keys whose values Spark's page and event log hide: Spark's own, and those of Azure's storage.
_HIDDEN: Final = r"(?i)secret|password|token|access[.]?key|account[.]key|azure[.]sas"
_MOST_PARTITIONS = 8  # of a local shuffle: more only costs, a micro-batch is small

#: What a session itself may be told, also one of a Spark Connect server.
_SESSION = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # An idle query asks its source for news so often. Spark's 10 ms keep a core busy with a source in Python.
    "spark.sql.streaming.pollingDelay": "100ms",
    # The simplified one leaves out what an error was caused by.
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
}

#: Of Spark Connect alone: a server keeps the plans that a session has asked about, and our sessions live for months.
_CONNECT = {"spark.connect.session.planCache.enabled": "false"}


def spark_conf(config: Mapping[str, str], name: str, master: Master) -> dict[str, str]:
    """The configuration of a session, without jars and paths of this machine.

    Args:
        config: the connector's; only its `spark.*` keys matter, without those of this project.
        name: of the application, by default.
        master: that `config` names.
    """
    conf = {**defaults(name, master), **users(config)}
    if master.kind is Kind.CONNECT:
        for key in (MASTER, JARS, PACKAGES):
            conf.pop(key, None)
        conf[REMOTE] = master.url
    else:
        conf.pop(REMOTE, None)
        conf[MASTER] = master.url
    return conf


def users(config: Mapping[str, str]) -> dict[str, str]:
    """The keys that a user wrote for Spark."""
    return {
        key: value
        for key, value in config.items()
        if key.startswith("spark.") and key not in OWN and value is not None  # a key with null is not set
    }


def defaults(name: str, master: Master) -> dict[str, str]:
    """The defaults."""
    conf = {"spark.app.name": name, **_SESSION}
    if master.kind is Kind.CONNECT:
        return conf | _CONNECT
    conf |= {
        **_DELTA,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.redaction.regex": _HIDDEN,
        "spark.driver.memory": "1g",
        # A Python worker that ends by a fault in C leaves a trace of it.
        "spark.python.worker.faulthandler.enabled": "true",
    }
    if master.is_local:
        partitions = str(max(2, min(master.cores, _MOST_PARTITIONS)))
        conf |= {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.sql.shuffle.partitions": partitions,
            # Delta reads a table's log by so many tasks; its 50 cost a second where there are two cores.
            "spark.databricks.delta.snapshotPartitions": partitions,
            # The files of a small table in its checksum as well: a job of Spark more for the first commit.
            "spark.databricks.delta.allFilesInCrc.enabled": "false",
            CHECKPOINT_FILES: _BY_RENAMING,
        }
    return conf


def with_jars(conf: Mapping[str, str], jars: Sequence[Path]) -> dict[str, str]:
    """The same with further jars before the user's own."""
    given = comma_separated(conf.get(JARS))
    return {**conf, JARS: ",".join([*map(str, jars), *given])}


def brings_delta(conf: Mapping[str, str]) -> bool:
    """Whether the user chose a Delta of their own, which would conflict with the default one."""
    return "delta-spark" in conf.get(JARS, "") or "io.delta:delta-spark" in conf.get(PACKAGES, "")


def uses_delta(conf: Mapping[str, str]) -> bool:
    """Whether the session has Delta's extensions: a user may set others instead."""
    return any(".delta." in conf.get(key, "") for key in _DELTA)


def with_java_options(conf: Mapping[str, str], options: Sequence[str]) -> dict[str, str]:
    """The same with options of the driver's JVM before the user's, which win."""
    return {**conf, JAVA_OPTIONS: " ".join([*options, conf.get(JAVA_OPTIONS, "")]).strip()}


def properties(conf: Mapping[str, str]) -> str:
    """A Java property file with these settings, for `spark-submit --properties-file`."""
    return "".join(f"{_escaped(key, ' :=#!')}={_escaped(value.strip(), '')}\n" for key, value in sorted(conf.items()))


def _escaped(text: str, special: str) -> str:
    named = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}
    written = []
    for character in text:
        if character in named:
            written.append(named[character])
        elif character in special:
            written.append("\\" + character)
        elif " " <= character <= "~":
            written.append(character)
        else:
            encoded = character.encode("utf-16-be")
            written += [f"\\u{encoded[i]:02x}{encoded[i + 1]:02x}" for i in range(0, len(encoded), 2)]
    return "".join(written)
