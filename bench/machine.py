"""What the measurements were taken on, and how they tell of themselves."""

import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from connect.jvm.jars import read_set
from connect.jvm.java import find_java


def describe() -> dict[str, str]:
    """Name and value of what matters for the figures. Nothing that tells whose machine it is."""
    kafka = next(jar.version for jar in read_set("kafka-connect") if jar.artifact == "connect-runtime")
    return {
        "Processor": f"{_processor()}, {len(os.sched_getaffinity(0))} cores",
        "Memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "Kernel": f"{platform.system()} {platform.release()}",
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "Java": _java(),
        "Kafka Connect and broker": kafka,
        "connect-runtime": version("connect-runtime"),
        "confluent-kafka": version("confluent-kafka"),
    }


def say(line: str) -> None:
    """Tell whoever waits. The table alone goes to standard output."""
    print(line, file=sys.stderr, flush=True)


def introduce() -> float:
    """Say what the machine is. Returns its load of the last minute."""
    for name, value in describe().items():
        say(f"{name}: {value}")
    load = os.getloadavg()[0]
    say(f"load of the last minute before the start: {load:.2f}")
    return load


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _java() -> str:
    done = subprocess.run([find_java().path, "-version"], capture_output=True, text=True, check=True)
    lines = done.stderr.splitlines()
    return f"{lines[0]}, {lines[-1].split('(')[0].strip()}"
