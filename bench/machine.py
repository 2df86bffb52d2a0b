"""What the measurements were taken on, and how they tell of themselves."""

import os
import platform
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from connect.jvm.jars import read_set
from connect.jvm.java import find_java

ROOT = Path(__file__).parents[1]


def describe() -> dict[str, Any]:
    """Name and value of what matters for the figures. Nothing that tells whose machine it is."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "kernel": f"{platform.system()} {_digits(platform.release())}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "java": _java(),
    }


def commit() -> tuple[str, bool]:
    """The commit that is checked out, and whether code differs from it. ("unknown", False) where there is no git."""
    try:
        name = _git("rev-parse", "--short=7", "HEAD")
        # What is measured does not depend on its own results, nor on pages.
        return name, bool(_git("status", "--porcelain", "--", ".", ":!bench/results", ":!*.md"))
    except (OSError, subprocess.CalledProcessError):
        return "unknown", False


def versions(*distributions: str) -> dict[str, str]:
    """The versions of Python libraries that are installed."""
    found = {}
    for name in distributions:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            pass
    return found


def jar_version(jar_set: str, artifact: str) -> str:
    """The version of one jar of a set."""
    return next(jar.version for jar in read_set(jar_set) if jar.artifact == artifact)


def kafka_connect() -> dict[str, str]:
    """The version of Kafka Connect that is measured beside, which is also that of the broker."""
    return {"Kafka Connect": jar_version("kafka-connect", "connect-runtime")}


def load() -> float:
    """How many programs wanted to run in the last minute, as a mean."""
    return round(os.getloadavg()[0], 2)


def say(line: str) -> None:
    """Tell whoever waits. What was measured goes to standard output."""
    print(line, file=sys.stderr, flush=True)


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def _digits(release: str) -> str:
    """A kernel's version without what a distributor or a machine's owner put behind it."""
    found = re.match(r"\d+(\.\d+)*", release)
    return found[0] if found else "of an unknown version"


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _java() -> str:
    done = subprocess.run([find_java().path, "-version"], capture_output=True, text=True, check=True)
    found = re.match(r'(\w+) version "([^"]+)"', done.stderr)
    return f"{'OpenJDK' if found[1] == 'openjdk' else found[1]} {found[2]}" if found else "unknown"
