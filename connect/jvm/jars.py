"""Named sets of jars: their content is committed with SHA-256 checksums, the jars themselves are fetched when needed.

A set is a file in `sums/`: after comments, a line for each jar of the closure, `SHA-256  group:artifact:version`, and
if needed `:classifier` and `:extension`. Nothing is resolved at run time, so versions cannot drift. `python -m
connect.jvm.lock` writes these files.
"""

import errno
import fcntl
import hashlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from connect.jvm import fetch
from connect.jvm.cache import cache_path

SUMS = Path(__file__).parent / "sums"
_STAGING = ".fetch-"

Say = Callable[[str], None]


class JarsUnavailable(Exception):
    """Jars could not be fetched, or are not what they should be. The message says what to do."""

    user_message = True


@dataclass(frozen=True)
class Jar:
    """One jar of a set, or one archive: Maven coordinates and the checksum of its bytes."""

    group: str
    artifact: str
    version: str
    classifier: str
    sha256: str
    extension: str = "jar"

    @property
    def name(self) -> str:
        """The file's name in a Maven repository, which is also its name in our cache."""
        return "-".join(filter(None, (self.artifact, self.version, self.classifier))) + f".{self.extension}"

    def matches(self, path: Path) -> bool:
        """Whether this file holds exactly the bytes that were committed."""
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == self.sha256


def read_set(name: str) -> list[Jar]:
    """The jars of a set, in class path order.

    Raises:
        JarsUnavailable: there is no such set.
    """
    path = SUMS / f"{name}.txt"
    if not path.is_file():
        known = ", ".join(sorted(each.stem for each in SUMS.glob("*.txt")))
        raise JarsUnavailable(f'There is no set of jars "{name}". Known are: {known}.')
    lines = (line.split() for line in path.read_text(encoding="ascii").splitlines() if not line.startswith("#"))
    return [_jar(coordinate, sum_) for sum_, coordinate in lines]


def resolve(name: str, say: Say | None = None) -> list[Path]:
    """The files of a set, fetched when they are missing and checked against their sums every time.

    Args:
        name: the set, such as `kafka-broker`.
        say: called with the progress of a long step, a line at a time; by default it goes to standard error.

    Raises:
        JarsUnavailable: no network, nothing to fetch with, a jar with a wrong sum, or no room for it.
    """
    jars = read_set(name)
    say = say or _to_stderr
    cache = cache_path("jars")
    try:
        cache.mkdir(parents=True, exist_ok=True)
        if not all(map(_cached(cache), jars)):
            with _locked(cache, say):
                # Whoever held the lock before may have fetched them meanwhile.
                missing = [jar for jar in jars if not _cached(cache)(jar)]
                if missing:
                    _fetch(name, missing, cache, say)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            advice = "The disk is full: make room for about 50 MB, or choose another cache with XDG_CACHE_HOME"
        else:
            advice = f"{error.strerror or error}. Choose another cache with XDG_CACHE_HOME"
        raise JarsUnavailable(f"The jars of {name} cannot be kept in {cache}. {advice}") from error
    return [cache / jar.group / jar.name for jar in jars]


def classpath(name: str, say: Say | None = None) -> str:
    """The files of a set in the form of Java's `-cp`. Raises as `resolve` does."""
    return ":".join(map(str, resolve(name, say)))


def _fetch(name: str, jars: list[Jar], cache: Path, say: Say) -> None:
    """Try each available tool until all jars are here with the right sums."""
    tools = fetch.available()
    if not tools:
        raise JarsUnavailable(
            f"Nothing is installed that can fetch the jars of {name}. "
            "Install jgo: pip install 'connect-runtime[broker]'"
        )
    for old in cache.glob(f"{_STAGING}*"):  # of a process that was killed: there is one at a time, see `_locked`
        shutil.rmtree(old, ignore_errors=True)
    failures = []
    for tool in tools:
        say(f"fetching {len(jars)} jars of {name} with {tool.name} (once; kept in {cache})")
        with tempfile.TemporaryDirectory(dir=cache, prefix=_STAGING) as staging:
            try:
                tool.fetch(jars, Path(staging), say)
                _keep(jars, Path(staging), cache)
            except (fetch.FetchError, _WrongSum) as error:
                failures.append(f"{tool.name}: {error}")
                continue
        say(f"fetched {len(jars)} jars of {name}")
        return
    raise JarsUnavailable(
        f"Cannot fetch the jars of {name}: {'; '.join(failures)}. "
        "Check the network and its proxy variables, and try again; the jars are needed once."
    )


class _WrongSum(Exception):
    """A tool fetched other bytes than the committed ones."""


def _keep(jars: list[Jar], staging: Path, cache: Path) -> None:
    for jar in jars:
        if not jar.matches(staging / jar.name):
            raise _WrongSum(
                f"{jar.name} does not have its SHA-256 sum {jar.sha256[:12]}..., so it is damaged or not the original "
                "and was thrown away"
            )
    for jar in jars:
        target = cache / jar.group / jar.name
        target.parent.mkdir(exist_ok=True)
        shutil.move(staging / jar.name, target)


def _cached(cache: Path) -> Callable[[Jar], bool]:
    def check(jar: Jar) -> bool:
        path = cache / jar.group / jar.name
        return path.is_file() and jar.matches(path)

    return check


@contextmanager
def _locked(cache: Path, say: Say) -> Iterator[None]:
    """One process fetches, the others wait and find the jars there."""
    with (cache / ".lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another process that fetches jars")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _jar(coordinate: str, sha256: str) -> Jar:
    group, artifact, version, *rest = coordinate.split(":")
    classifier, extension = (*rest, "", "")[:2]
    return Jar(group, artifact, version, classifier, sha256, extension or "jar")


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr)  # noqa: T201  the default place for progress
