"""Java: which one would be used, by the embedded broker and by Spark."""

from __future__ import annotations

from collections.abc import Iterator

from connect.cli._doctor.finding import Finding, error, note, ok
from connect.cli._doctor.subject import Subject
from connect.jvm.java import JavaNotFound, find_java


def check(subject: Subject) -> Iterator[Finding]:
    """Java is only needed by the embedded broker and by Spark."""
    broker = subject.raw.get("bootstrap.servers", "").strip() == "embedded"
    try:
        java = find_java()
    except JavaNotFound as problem:
        found, _, advice = str(problem).partition("). ")
        if broker:
            yield error("Java", f"{found}): the embedded broker does not start.", f"{advice}.")
        elif not _uses_spark(subject):
            yield note("Java", f"{found}), and nothing in these files uses it.", f"For Spark: {advice}.")
    else:
        yield ok("Java", f"Java {java.version} ({java.path}).")
    if _uses_spark(subject):
        yield _spark()


def _spark() -> Finding:
    from spark_sink.session.installation import SparkNotInstalled, java_for_spark, spark_home

    try:
        home, java = spark_home(), java_for_spark()
    except SparkNotInstalled as problem:
        found, _, advice = str(problem).partition(". ")
        return error("Spark", f"{found}.", advice)
    return ok("Spark", f"PySpark in {home} runs on Java {java.version}.")


def _uses_spark(subject: Subject) -> bool:
    """Whether a file names Spark."""
    raw = subject.raw
    return (
        raw.get("engine.default", "").strip() == "spark"
        or any(key.startswith("spark.") for key in raw)
        or any(
            config.get("engine", "").strip() == "spark" or "spark" in config.get("connector.class", "").lower()
            for config in subject.configs.values()
        )
    )
