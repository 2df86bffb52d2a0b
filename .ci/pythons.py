"""Runs the unit tests on every Python of this machine that the project promises, and prints what came of it as a table.

.ci/pythons.py                        every one on the PATH and in ~/.pyenv/versions
.ci/pythons.py 3.14 3.11.2            only these
.ci/pythons.py -- tests/unit/worker   other tests than tests/unit

Each has an environment of its own, .venvs/VERSION, and a log of all that was said, .venvs/VERSION.log. Ends with 1 when
a test failed or a Python could not be set up. It runs on any Python from 3.11 and needs nothing else.
"""

import argparse
import os
import re
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENVS = ROOT / ".venvs"
# Its version and where it really is, if it is a release of CPython with its lock and no virtual environment.
ASK = """
import os, sys, sysconfig
release = sys.implementation.name == "cpython" and sys.version_info.releaselevel == "final"
if release and sys.prefix == sys.base_prefix and not sysconfig.get_config_var("Py_GIL_DISABLED"):
    print("%d.%d.%d" % sys.version_info[:3], os.path.realpath(sys.executable))
"""
OUTCOMES = ("passed", "failed", "errors", "skipped")


@dataclass(frozen=True)
class Interpreter:
    """A Python of this machine."""

    version: str
    path: Path

    def is_one_of(self, wanted: list[str]) -> bool:
        """Whether it is wanted, as 3.14 or as 3.14.2."""
        return not wanted or any(f"{self.version}.".startswith(f"{each}.") for each in wanted)


@dataclass
class Result:
    """What came of one."""

    interpreter: Interpreter
    counts: dict[str, int]
    seconds: float
    trouble: str = ""

    @property
    def good(self) -> bool:
        """Whether tests ran and none failed."""
        return not self.trouble and self.counts["passed"] > 0 and not self.counts["failed"] + self.counts["errors"]


def promised() -> list[str]:
    """The minor versions that pyproject.toml names."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        classifiers = tomllib.load(file)["project"]["classifiers"]
    return [found[1] for each in classifiers if (found := re.fullmatch(r"Programming.* :: Python :: (3\.\d+)", each))]


def interpreters(minors: list[str]) -> list[Interpreter]:
    """What is here of these minor versions, one for each version, the oldest first."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    folders += sorted(Path.home().glob(".pyenv/versions/*/bin"))
    found: dict[str, Interpreter] = {}
    for path in (folder / f"python{minor}" for folder in folders for minor in minors):
        if not os.access(path, os.X_OK):
            continue
        # One of pyenv's shims may lead nowhere.
        asked = subprocess.run([path, "-c", ASK], check=False, capture_output=True, text=True)
        if asked.returncode == 0 and asked.stdout.strip():
            version, _, real = asked.stdout.strip().partition(" ")
            found.setdefault(version, Interpreter(version, Path(real)))
    return sorted(found.values(), key=lambda each: [int(part) for part in each.version.split(".")])


def run(interpreter: Interpreter, tests: list[str]) -> Result:
    """Set its environment up, and run the tests there."""
    venv, log = VENVS / interpreter.version, VENVS / f"{interpreter.version}.log"
    result = Result(interpreter, dict.fromkeys(OUTCOMES, 0), 0.0)
    with log.open("w+", encoding="utf-8") as out:

        def to_log(*command: str | Path) -> tuple[int, list[str]]:
            start = out.tell()
            done = subprocess.run(command, check=False, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
            out.seek(start)
            return done.returncode, out.read().splitlines()

        say(f"{interpreter.version}: installing")
        code, lines = to_log(ROOT / ".ci" / "setup", venv, interpreter.path)
        if code:
            result.trouble = next((line for line in reversed(lines) if line.startswith("ERROR")), f"see {log}")
            return result
        say(f"{interpreter.version}: testing")
        begin = time.monotonic()
        code, lines = to_log(
            venv / "bin" / "python", "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", *tests
        )
    result.seconds = time.monotonic() - begin
    for number, outcome in re.findall(r"(\d+) (passed|failed|errors?|skipped)\b", lines[-1] if lines else ""):
        result.counts["errors" if outcome == "error" else outcome] = int(number)
    if code and result.good:
        result.trouble = f"pytest ended with {code}, see {log}"
    for line in lines:
        if line.startswith(("FAILED", "ERROR ", "SKIPPED")):
            print(f"    {line}", flush=True)
    return result


def say(text: str) -> None:
    """Print what is done now."""
    print(f"\033[1m==> {text}\033[0m" if sys.stdout.isatty() else f"==> {text}", flush=True)


def table(results: list[Result], absent: list[str]) -> str:
    """All results, aligned; a promised version that is not here says so."""
    rows = [["Python", *OUTCOMES, "seconds", "where"]]
    for each in results:
        numbers = [str(each.counts[outcome]) for outcome in OUTCOMES]
        where = f"{each.interpreter.path}{each.trouble and ': '}{each.trouble}"
        rows.append([each.interpreter.version, *numbers, f"{each.seconds:.0f}", where])
    rows += [[minor, *["-"] * (len(OUTCOMES) + 1), "not on this machine"] for minor in absent]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = (
        f"{version:{widths[0]}}  {'  '.join(map(str.rjust, numbers, widths[1:]))}  {where}"
        for version, *numbers, where in rows
    )
    return "\n".join(lines)


def main() -> int:
    """Run them one after another; 1 when one is not good."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", nargs="*", help="3.14 or 3.14.2; without, all of them")
    given = sys.argv[1:]
    mark = given.index("--") if "--" in given else len(given)
    wanted = parser.parse_args(given[:mark]).version
    minors = promised()
    here = interpreters(minors)
    chosen = [each for each in here if each.is_one_of(wanted)]
    if missing := [each for each in wanted if not any(one.is_one_of([each]) for one in here)]:
        print(f"Python {', '.join(missing)} is not on this machine. Here are: {', '.join(one.version for one in here)}")
        return 1
    VENVS.mkdir(exist_ok=True)
    results = [run(each, given[mark + 1 :] or ["tests/unit"]) for each in chosen]
    absent = [] if wanted else [minor for minor in minors if not any(one.is_one_of([minor]) for one in here)]
    print(f"\n{table(results, absent)}")
    return 0 if results and all(result.good for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
