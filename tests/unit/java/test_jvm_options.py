"""Options of a user replace those of the runtime that say the same: a JVM has one collector and one size."""

import pytest

from connect.java import jvm

DEFAULTS = ["-Xms64m", "-Xmx1g", "-XX:NewRatio=1", "-XX:+UseSerialGC", "-Xrs"]


@pytest.mark.parametrize(
    ("given", "replaced"),
    [
        ("-Dfile.encoding=UTF-8", set()),
        ("-XX:+UseG1GC", {"-XX:+UseSerialGC"}),
        ("-XX:+UseGCOverheadLimit", set()),
        ("-Xmx2g", {"-Xmx1g"}),
        ("-Xmx64m", {"-Xmx1g"}),
        ("-Xmx65535K", {"-Xmx1g", "-Xms64m"}),
        ("-XX:MaxHeapSize=1000000", {"-Xmx1g", "-Xms64m"}),
        ("-XX:MaxRAMPercentage=50", {"-Xmx1g", "-Xms64m"}),
        ("-Xmn20m -Xms70m", {"-XX:NewRatio=1", "-Xms64m"}),
    ],
)
@pytest.mark.parametrize("where", ["java.options", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"])
def test_what_a_user_says_counts(monkeypatch: pytest.MonkeyPatch, where: str, given: str, replaced: set[str]) -> None:
    for name in ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"):
        monkeypatch.delenv(name, raising=False)
    if where != "java.options":
        monkeypatch.setenv(where, given)
    left = jvm._left_of(DEFAULTS, given.split() if where == "java.options" else [])
    assert left == [option for option in DEFAULTS if option not in replaced]
