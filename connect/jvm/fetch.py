"""The tools that can fetch a jar from the Java world's default repository: jgo, Maven, or the Ivy inside PySpark.

They fetch from their own defaults and their own configuration.
"""

import importlib.util
import logging
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from xml.sax.saxutils import quoteattr

from connect.jvm.java import JavaNotFound, find_java
from connect.jvm.truststore import jvm_options

MINUTES_15 = 900  # a slow line needs a while for 50 MB; a tool that hangs must end


class FetchError(Exception):
    """A tool could not fetch a jar; the message is its reason in one line."""


class Coordinate(Protocol):
    """What a tool needs to know about a jar. `name` is the file that it has to create in the folder."""

    @property
    def group(self) -> str: ...
    @property
    def artifact(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def classifier(self) -> str: ...
    @property
    def extension(self) -> str: ...
    @property
    def name(self) -> str: ...


@dataclass(frozen=True)
class Tool:
    """One way to fetch. `fetch(jars, folder, say)` leaves each jar in the folder or raises FetchError."""

    name: str
    fetch: Callable[[Sequence[Coordinate], Path, Callable[[str], None]], None]


def available() -> list[Tool]:
    """The tools of this machine, the quickest first."""
    tools = []
    if importlib.util.find_spec("jgo"):
        tools.append(Tool("jgo", with_jgo))
    if shutil.which("mvn"):
        tools.append(Tool("mvn", with_maven))
    if ivy := _ivy_of_pyspark():
        tools.append(Tool("ivy", lambda jars, folder, say: with_ivy(ivy, jars, folder, say)))
    return tools


def with_jgo(jars: Sequence[Coordinate], folder: Path, say: Callable[[str], None]) -> None:
    """In this process, six at a time."""
    import requests
    from jgo.maven import MavenContext

    logging.getLogger("jgo").setLevel(logging.ERROR)
    # A repository of our own: jgo writes in place, and a cut download must not stay in the user's ~/.m2.
    maven = MavenContext(repo_cache=folder / "repository", local_repos=[], timeout=60)

    def bring(jar: Coordinate) -> None:
        component = maven.project(jar.group, jar.artifact).at_version(jar.version)
        shutil.move(component.artifact(jar.classifier, jar.extension).resolve(), folder / jar.name)

    with ThreadPoolExecutor(6) as pool:
        waiting = [pool.submit(bring, jar) for jar in jars]
        try:
            for number, each in enumerate(waiting, 1):
                each.result()
                if number % 15 == 0:
                    say(f"  {number} of {len(jars)} jars")
        except requests.ConnectionError as error:
            raise FetchError("no connection to the repository") from error
        except (requests.RequestException, RuntimeError) as error:
            raise FetchError(_first_line(str(error))) from error
        finally:
            pool.shutdown(cancel_futures=True)


def with_maven(jars: Sequence[Coordinate], folder: Path, say: Callable[[str], None]) -> None:
    """Through a project that names each jar and excludes its dependencies."""
    dependencies = "".join(
        f"<dependency><groupId>{jar.group}</groupId><artifactId>{jar.artifact}</artifactId>"
        f"<version>{jar.version}</version>"
        + (f"<classifier>{jar.classifier}</classifier>" if jar.classifier else "")
        + f"<type>{jar.extension}</type>"
        + "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>"
        for jar in jars
    )
    (folder / "pom.xml").write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>set</groupId><artifactId>set</artifactId>"
        f"<version>1</version><dependencies>{dependencies}</dependencies></project>",
        encoding="ascii",
    )
    options = " ".join([os.environ.get("MAVEN_OPTS", ""), *jvm_options()])
    _run(
        ["mvn", "--batch-mode", "--quiet", "dependency:copy-dependencies", f"-DoutputDirectory={folder}"],
        folder,
        {"MAVEN_OPTS": options},
    )


def with_ivy(ivy: Path, jars: Sequence[Coordinate], folder: Path, say: Callable[[str], None]) -> None:
    """With the jar of Apache Ivy, by its command line and built-in settings."""
    try:
        java = find_java(8)
    except JavaNotFound as error:
        raise FetchError("it needs a Java, and there is none") from error
    dependencies = "".join(
        f"<dependency org={quoteattr(jar.group)} name={quoteattr(jar.artifact)} rev={quoteattr(jar.version)} "
        'transitive="false" conf="default->master">'
        + (
            f"<artifact name={quoteattr(jar.artifact)} m:classifier={quoteattr(jar.classifier)} "
            f'ext="{jar.extension}" type="jar"/>'
            if jar.classifier
            else ""
        )
        + "</dependency>"
        for jar in jars
    )
    (folder / "ivy.xml").write_text(
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven"><info organisation="set" module="set"/>'
        '<configurations><conf name="default"/></configurations>'
        f"<dependencies>{dependencies}</dependencies></ivy-module>",
        encoding="ascii",
    )
    pattern = f"{folder}/[artifact]-[revision](-[classifier]).[ext]"
    _run(
        [
            str(java.path),
            *jvm_options(),
            "-jar",
            str(ivy),
            "-warn",
            "-cache",
            str(folder / "cache"),
            "-ivy",
            str(folder / "ivy.xml"),
            "-types",
            "jar",
            "bundle",
            "-retrieve",
            pattern,
        ],
        folder,
        {},
    )


def _ivy_of_pyspark() -> Path | None:
    spark = importlib.util.find_spec("pyspark")
    if spark is None or spark.origin is None:
        return None
    return next(iter(sorted(Path(spark.origin).parent.glob("jars/ivy-*.jar"))), None)


def _run(command: list[str], folder: Path, environment: dict[str, str]) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=MINUTES_15,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise FetchError(f"gave up after {MINUTES_15 // 60} minutes") from error
    if done.returncode:
        raise FetchError(_first_line(done.stdout + done.stderr) or f"ended with {done.returncode}")


def _first_line(text: str) -> str:
    """The first line that reports an error, without the tool's markup."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    wrong = [line for line in lines if "ERROR" in line or "error" in line.lower()] or lines
    return wrong[0].removeprefix("[ERROR]").strip()[:300] if wrong else ""
