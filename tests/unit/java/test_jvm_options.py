"""Options of a user replace those of the runtime that say the same: a JVM has one collector and one size."""

from collections.abc import Callable
from typing import NoReturn

import pytest

from connect.java import jvm_options
from connect.java.options import PROCESS_SETTINGS
from connect.jvm.java import JavaNotFound, find_java

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
    left = jvm_options.left_of(DEFAULTS, given.split() if where == "java.options" else [])
    assert left == [option for option in DEFAULTS if option not in replaced]


@pytest.fixture
def has_java(cannot_have: Callable[[str, object], NoReturn]) -> None:
    try:
        find_java()
    except JavaNotFound as error:
        cannot_have("Java", error)


@pytest.mark.usefixtures("has_java")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("-Xmx3x", "Invalid maximum heap size: -Xmx3x"),
        ("-Xmx1g -Xms2g", "Initial heap size set to a larger value than the maximum heap size"),
        ("-XX:NoSuchOption", "Unrecognized VM option 'NoSuchOption'"),
        ("-XX:+UseG1GC -XX:+UseParallelGC", "Multiple garbage collectors selected"),
    ],
)
def test_options_that_java_refuses_are_refused_with_its_words(given: str, said: str) -> None:
    found = [error for value in PROCESS_SETTINGS.validate({"java.options": given}) for error in value.errors]
    assert found == [f"Java does not start with these options: {said}."]


@pytest.mark.usefixtures("has_java")
@pytest.mark.parametrize("given", ["", "-Xmx2g -XX:+UseG1GC", "-Dx=y -javaagent:no.jar -agentlib:jdwp=suspend=y"])
def test_other_options_pass(given: str) -> None:
    assert not [error for value in PROCESS_SETTINGS.validate({"java.options": given}) for error in value.errors]
