"""One real Spark for all tests of a pytest worker: local[2], 1 GB, with Delta."""

import contextlib
import functools
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from connect.jvm.jars import JarsUnavailable, resolve
from spark_sink.session import Session, open_session
from spark_sink.session.cluster import Cluster
from spark_sink.session.installation import SparkNotInstalled, java_for_spark, spark_home
from spark_sink.session.jvm import JarsNotFetched
from spark_sink.session.server import Server, start

from .readings import Readings

SPARK = {"spark.master": "local[2]", "spark.driver.memory": "1g"}


class SharedSpark:
    """The session that tests share. One that has to have a JVM of its own, or none, suspends it."""

    def __init__(self) -> None:
        self._session: Session | None = None

    def get(self) -> Session:
        """The session, opened when it is not."""
        if self._session is None or self._session.ended() is not None:
            self.close()
            self._session = open_session(SPARK, "tests")
        return self._session

    def close(self) -> None:
        """End it; the next test that asks gets a new one."""
        session, self._session = self._session, None
        if session is not None:
            session.close()


@functools.cache
def shared_by_all() -> SharedSpark:
    """One for the process: modules that import these fixtures have fixtures of their own, and would each have one."""
    return SharedSpark()


@pytest.fixture(scope="session")
def shared_spark(cannot_have: Callable[[str, object], NoReturn]) -> Iterator[SharedSpark]:
    """See `SharedSpark`. It is not opened before a test asks for it: many have a session of their own."""
    try:
        spark_home(), java_for_spark(), resolve("delta")
    except (SparkNotInstalled, JarsUnavailable) as error:
        cannot_have("Spark", error)
    with contextlib.closing(shared_by_all()) as shared:
        yield shared


@pytest.fixture
def session(shared_spark: SharedSpark) -> Session:
    """The `Session` that all tests share. What a test makes in it (views, configurations, queries) it removes."""
    return shared_spark.get()


@pytest.fixture
def spark(session: Session) -> Any:
    """Its SparkSession. Streams that a test left running are stopped."""
    yield session.spark
    for query in session.spark.streams.active:
        query.stop()


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A folder for tables, which does not exist yet."""
    return tmp_path / "lake"


@pytest.fixture
def no_shared_spark(shared_spark: SharedSpark) -> None:
    """For a test that opens a session of its own: a process has one at a time."""
    shared_spark.close()


@pytest.fixture(scope="session")
def connect_server(cannot_have: Callable[[str, object], NoReturn]) -> Iterator[Server]:
    """A Spark Connect server with Delta and a token, `local[2]`; its `.url` is what spark.remote says."""
    try:
        running = start({"spark.master": "local[2]"}, name="tests", token=secrets.token_urlsafe(16))
    except (SparkNotInstalled, JarsNotFetched) as error:
        cannot_have("Spark Connect server", error)
    with running:
        yield running


@pytest.fixture(scope="session")
def cluster(cannot_have: Callable[[str, object], NoReturn]) -> Iterator[Cluster]:
    """A standalone cluster of two workers with a core each; its `.url` is what spark.master says."""
    try:
        running = Cluster(2, memory="1g")
    except (SparkNotInstalled, JarsNotFetched) as error:
        cannot_have("Spark cluster", error)
    with running:
        yield running


@pytest.fixture
def readings(spark: Any, broker: Any, tmp_path: Path) -> Readings:
    """See `Readings`."""
    return Readings(spark, broker, tmp_path)
