"""The options of a JVM: our defaults, a user's in their place, and what Java says of those that it refuses."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from connect.jvm.java import JavaNotFound, find_java

#: Of a JVM, unless a user says otherwise: few threads and a small heap at first, as each task has a JVM. Half of the
#: heap is for young objects: with a third, a source at full speed spends much of its time collecting them.
OPTIONS: Final = (
    *("-Xms64m", "-Xmx1g", "-XX:NewRatio=1", "-XX:+UseSerialGC"),
    *("-XX:+ExitOnOutOfMemoryError", "-Xshare:auto", "-Xrs"),
)
#: What options say the same as one of these, or cannot stand beside it: a JVM has one collector.
_INSTEAD: Final = {
    "-Xms": ("-Xms", "-XX:InitialHeapSize=", "-XX:InitialRAMPercentage=", "-XX:MaxRAMPercentage="),
    "-Xmx": ("-Xmx", "-XX:MaxHeapSize=", "-XX:MaxRAMPercentage="),
    "-XX:NewRatio": ("-XX:NewRatio=", "-Xmn", "-XX:NewSize=", "-XX:MaxNewSize="),
    "-XX:+Use": tuple(f"-XX:+Use{name}GC" for name in ("Serial", "Parallel", "G1", "Z", "Shenandoah", "Epsilon")),
}
#: Options that do something before a program begins.
_NOT_TRIED: Final = (
    *("-Xrun", "-Xlog", "-Xshare", "-XX:+AlwaysPreTouch", "-XX:StartFlightRecording", "-XX:ArchiveClassesAtExit"),
)
_TRIED_S: Final = 20.0
#: How lines begin that Java writes whatever is wrong.
_SAID_ALWAYS: Final = (
    *("Error: Could not create", "Error: A fatal exception", "Error occurred during initialization", "Picked up "),
)
_SIZE: Final = re.compile(r"-(?:Xms|Xmx|XX:MaxHeapSize=)(\d+)([kmgt]?)", re.IGNORECASE)
#: Their options come before those of the command line, or after them.
_VARIABLES: Final = ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")


@lru_cache(maxsize=256)
def refusal(options: Sequence[str]) -> str | None:
    """What Java says of options with which it does not start; None where it starts, or there is no Java.

    A JVM that is refused within a task's process may end it without a word to the worker. Only what begins with -X is
    tried: agents may open ports or wait for a debugger.
    """
    tried = [option for option in options if option.startswith("-X") and not option.startswith(_NOT_TRIED)]
    if not tried:
        return None
    try:
        command = [str(find_java().path), *left_of(OPTIONS, tried), *tried, "-version"]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_TRIED_S, check=False)
    except (JavaNotFound, OSError, subprocess.TimeoutExpired):
        return None
    lines = (done.stdout + done.stderr).splitlines()
    said = [line.strip().rstrip(".") for line in lines if line.strip() and not line.startswith(_SAID_ALWAYS)]
    return None if done.returncode == 0 else "; ".join(said) or f"exit code {done.returncode}"


def left_of(defaults: Iterable[str], options: Iterable[str]) -> list[str]:
    """The defaults that hold beside other options. What contradicts itself ends the process that starts the JVM."""
    given = [*" ".join(os.environ.get(name, "") for name in _VARIABLES).split(), *options]
    limits = [size for option in given if not option.startswith("-Xms") and (size := _bytes_of(option)) is not None]
    return [
        default
        for default in defaults
        if not any(option.startswith(_instead_of(default)) for option in given)
        and not (default.startswith("-Xms") and limits and (_bytes_of(default) or 0) > limits[-1])
    ]


def _instead_of(default: str) -> tuple[str, ...]:
    return next((others for start, others in _INSTEAD.items() if default.startswith(start)), (default,))


def _bytes_of(option: str) -> int | None:
    """The size of the heap that an option says, if it does."""
    if (found := _SIZE.fullmatch(option)) is None:
        return None
    return int(found[1]) << (10 * " kmgt".index(found[2].lower() or " "))
