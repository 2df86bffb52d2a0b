"""What all tests share: the seed, the broker, databases, and the account of servers that could not be had and of
processes that were left behind.
"""

import os
import signal
import sys
import threading
import uuid
from collections.abc import Callable, Generator, Iterator
from multiprocessing import forkserver, resource_tracker
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

import hypothesis
import pytest

from tests.servers import guardian
from tests.support import class_archive
from tests.support.selection import Selection, add_options

if TYPE_CHECKING:
    from connect.kafka.broker.embedded import Broker
    from tests.servers.elasticsearch import ElasticsearchServer
    from tests.servers.iceberg_rest import IcebergRest
    from tests.servers.mariadb import MariaServer
    from tests.servers.object_stores import Azurite, FakeGcs
    from tests.servers.opensearch import OpenSearchServer
    from tests.servers.postgresql import PostgresDatabase, PostgresServer
    from tests.servers.s3 import S3Bucket, S3Server
    from tests.support.java import JavaProgram, Oracle

MISSING = "cannot have "

# A property that takes longer on a busy machine holds all the same.
hypothesis.settings.register_profile("no deadline", hypothesis.settings(deadline=None))
hypothesis.settings.load_profile("no deadline")

# Programs under test are started a thousand times: their bytecode is kept, whatever the environment says, as it is for
# users. (CPU of a worker's start: 1.4 s in place of 2.8.)
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell starts what runs in its background with these ignored, and everything started from here would inherit that:
# programs under test could then not be interrupted.
for _number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)

# Spark's JVMs live for a minute here, and most of it goes into code that runs once. So: no second compiler and no
# threads of a collector, room for all that the first compiler makes, plans that are interpreted, classes from an
# archive, in executors, too. (CPU of 15 tests of upserts: 87 s in place of 130; of one test on a cluster: 108 in place
# of 170.) Spark's launcher says nothing of SPARK_SUBMIT_OPTS.
_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=200m"
_SPARK = f"{_JVM} -Dspark.sql.codegen.wholeStage=false -Dspark.sql.codegen.factoryMode=NO_CODEGEN"
_SPARK_IS_OURS = os.environ.setdefault("SPARK_SUBMIT_OPTS", _SPARK) == _SPARK
#: So many modules with Spark are worth the making of an archive of its classes.
MANY_SPARKS = 8

#: Fixtures of servers that the first test to ask for one may have to build or fetch, and how long that may take.
MADE_HERE = frozenset({"s3_gateway", "azurite", "fake_gcs"})
MAKING_S = 1200

#: How long processes have to end by themselves, at the end of a run: a shared Spark waits 5 s for users to come.
LEFT_ALONE_S = 12.0

_NO_CASE: Any = SimpleNamespace(params={})
_failed: set[Path] = set()  # the folders of tests that failed
_left: list[str] = []  # what had to be ended at the end of the run
_kept: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    """See `tests/support/selection.py`."""
    add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Have everything that this process starts end with it, and its temporary files, and pytest's, be removed."""
    worker = getattr(config, "workerinput", {}).get("workerid")  # of pytest-xdist
    run = guardian.begin(worker)
    given = config.option.basetemp
    if given is None or (worker and Path(given).is_relative_to(run.folder.parent)):
        config.option.basetemp = str(run.folder / "t")
    config.pluginmanager.register(Selection(config), "selection")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give who may have to build a server the time for it: what a test may take counts from its fixtures on."""
    asked = {*getattr(item, "fixturenames", ()), *map(str, getattr(item, "callspec", _NO_CASE).params.values())}
    if asked & MADE_HERE and item.get_closest_marker("timeout") is None:
        item.add_marker(pytest.mark.timeout(MAKING_S))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Have the JVMs of Spark share their classes."""
    sparks = {item.nodeid.partition("::")[0] for item in getattr(session, "items", []) if "spark" in item.nodeid}
    if sparks and _SPARK_IS_OURS and not session.config.option.collectonly:
        sharing = class_archive.sharing(make=len(sparks) >= MANY_SPARKS)
        executors = f"'-Dspark.executor.extraJavaOptions={_JVM} {sharing}'"
        os.environ["SPARK_SUBMIT_OPTS"] = f"{_SPARK} {sharing} {executors}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember the folder of a test that failed."""
    report = yield
    folder = getattr(item, "funcargs", {}).get("tmp_path")
    if report.failed and folder is not None:
        _failed.add(folder)
    return report


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The number that this run's chance comes from. Give it to `random.Random`; it is printed at the end."""
    return int(request.config.getoption("randomly_seed", default=0))


@pytest.fixture(scope="session")
def cannot_have() -> Callable[[str, object], NoReturn]:
    """Skips a test whose server cannot be had: `cannot_have("PostgreSQL", "no initdb on the PATH")`.

    The server is named at the end of the run; with CI=true that fails the run.
    """

    def skip(server: str, reason: object) -> NoReturn:
        pytest.skip(f"{MISSING}{server}: {' '.join(str(reason).split())}")

    return skip


@pytest.fixture(scope="session")
def java_program(
    tmp_path_factory: pytest.TempPathFactory, cannot_have: Callable[[str, object], NoReturn]
) -> Callable[..., "JavaProgram"]:
    """Compiles a program of Java: `java_program(source, jars=["kafka-connect"])`; see `tests.support.java.program`."""
    from connect.jvm.jars import JarsUnavailable
    from connect.jvm.java import JavaNotFound
    from tests.support.java import NoCompiler, program

    def compile_(*sources: str | Path, **options: Any) -> "JavaProgram":
        try:
            return program(tmp_path_factory.mktemp("java"), *sources, **options)
        except NoCompiler as error:
            cannot_have("a Java compiler", error)
        except JavaNotFound as error:
            cannot_have("Java", error)
        except JarsUnavailable as error:
            cannot_have(f"the jars of {', '.join(options['jars'])}", error)

    return compile_


@pytest.fixture(scope="session")
def oracle_in_java(java_program: Callable[..., "JavaProgram"]) -> Iterator[Callable[..., "Oracle"]]:
    """Starts a program that answers questions for the rest of the run; takes what `java_program` takes."""
    from tests.support.java import Oracle

    started = []

    def start(*sources: str | Path, **options: Any) -> "Oracle":
        started.append(Oracle(java_program(*sources, **options)))
        return started[-1]

    yield start
    for each in started:
        each.close()


@pytest.fixture(scope="session")
def keytool(cannot_have: Callable[[str, object], NoReturn]) -> Callable[..., str]:
    """Runs Java's keytool, and gives what it prints."""
    from connect.jvm.java import JavaNotFound
    from tests.support.java import keytool

    def run(*arguments: object) -> str:
        try:
            return keytool(*arguments)
        except JavaNotFound as error:
            cannot_have("Java", error)

    return run


@pytest.fixture(scope="session")
def broker(
    tmp_path_factory: pytest.TempPathFactory, cannot_have: Callable[[str, object], NoReturn]
) -> Iterator["Broker"]:
    """One real Kafka broker for the whole run, with `.bootstrap_servers`. Use topic names of your own."""
    from connect.jvm.jars import JarsUnavailable
    from connect.jvm.java import JavaNotFound
    from tests.servers.broker import a_broker

    try:
        with a_broker(tmp_path_factory.mktemp("broker")) as running:
            yield running
    except (JavaNotFound, JarsUnavailable) as error:
        cannot_have("Kafka broker", error)


@pytest.fixture(scope="session")
def postgres(cannot_have: Callable[[str, object], NoReturn]) -> Iterator["PostgresServer"]:
    """One real PostgreSQL for the whole run. For data of your own ask for `postgres_database`."""
    from connect.jvm.jars import JarsUnavailable
    from tests.servers.postgresql import PostgresServer

    try:
        server = PostgresServer()
    except JarsUnavailable as error:
        cannot_have("PostgreSQL", error)
    yield server
    server.close()


@pytest.fixture
def postgres_database(postgres: "PostgresServer") -> Iterator["PostgresDatabase"]:
    """A fresh database for one test."""
    database = postgres.database(f"test_{uuid.uuid4().hex[:12]}")
    yield database
    database.drop()


@pytest.fixture(scope="session")
def mariadb(cannot_have: Callable[[str, object], NoReturn]) -> Iterator["MariaServer"]:
    """One real MariaDB for the whole run. Make a database of your own: `mariadb.database(name)`."""
    from connect.jvm.jars import JarsUnavailable
    from tests.servers.mariadb import MariaServer, MissingLibraries

    try:
        server = MariaServer()
    except (JarsUnavailable, MissingLibraries) as error:
        cannot_have("MariaDB", error)
    yield server
    server.close()


@pytest.fixture(scope="session")
def s3(cannot_have: Callable[[str, object], NoReturn]) -> Iterator["S3Server"]:
    """One real S3 server for the whole run, S3Proxy. For a bucket of your own ask for `s3_bucket`."""
    from connect.jvm.jars import JarsUnavailable
    from connect.jvm.java import JavaNotFound
    from tests.servers.s3 import S3Proxy

    try:
        server = S3Proxy()
    except (JarsUnavailable, JavaNotFound) as error:
        cannot_have("S3Proxy", error)
    yield server
    server.close()


@pytest.fixture
def s3_bucket(s3: "S3Server") -> "S3Bucket":
    """A fresh bucket for one test."""
    return s3.bucket()


@pytest.fixture(scope="session")
def s3_gateway(cannot_have: Callable[[str, object], NoReturn]) -> Iterator["S3Server"]:
    """One real S3 server with tags, versions and access control lists. Its first use builds it: for slow tests."""
    from tests.servers.programs import ProgramUnavailable
    from tests.servers.s3 import VersityGateway

    try:
        server = VersityGateway()
    except ProgramUnavailable as error:
        cannot_have("Versity's S3 gateway", error)
    yield server
    server.close()


@pytest.fixture(scope="session")
def azurite(cannot_have: Callable[[str, object], NoReturn]) -> Iterator["Azurite"]:
    """One real server of Azure's blobs. Its first use fetches it: for slow tests."""
    from tests.servers.object_stores import Azurite
    from tests.servers.programs import ProgramUnavailable

    try:
        server = Azurite()
    except ProgramUnavailable as error:
        cannot_have("Azurite", error)
    yield server
    server.close()


@pytest.fixture(scope="session")
def fake_gcs(cannot_have: Callable[[str, object], NoReturn]) -> Iterator["FakeGcs"]:
    """One server that speaks Google Cloud Storage's JSON API. Its first use builds it: for slow tests."""
    from tests.servers.object_stores import FakeGcs
    from tests.servers.programs import ProgramUnavailable

    try:
        server = FakeGcs()
    except ProgramUnavailable as error:
        cannot_have("fake-gcs-server", error)
    yield server
    server.close()


@pytest.fixture(scope="session")
def iceberg_rest(cannot_have: Callable[[str, object], NoReturn]) -> Iterator["IcebergRest"]:
    """One REST catalog of Iceberg for the whole run. Use namespaces of your own."""
    from connect.jvm.jars import JarsUnavailable
    from connect.jvm.java import JavaNotFound
    from tests.servers.iceberg_rest import IcebergRest

    try:
        server = IcebergRest()
    except (JarsUnavailable, JavaNotFound) as error:
        cannot_have("Iceberg's REST catalog", error)
    yield server
    server.close()


@pytest.fixture(scope="session")
def elasticsearch(cannot_have: Callable[[str, object], NoReturn]) -> Iterator["ElasticsearchServer"]:
    """One real Elasticsearch for the whole run, without security. Use indices of your own."""
    from connect.jvm.jars import JarsUnavailable
    from connect.jvm.java import JavaNotFound
    from tests.servers.elasticsearch import ElasticsearchServer
    from tests.servers.server_process import CannotRunHere

    try:
        server = ElasticsearchServer()
    except (JarsUnavailable, JavaNotFound, CannotRunHere) as error:
        cannot_have("Elasticsearch", error)
    yield server
    server.close()


@pytest.fixture(scope="session")
def opensearch(cannot_have: Callable[[str, object], NoReturn]) -> Iterator["OpenSearchServer"]:
    """One real OpenSearch for the whole run. Use indices of your own."""
    from connect.jvm.jars import JarsUnavailable
    from connect.jvm.java import JavaNotFound
    from tests.servers.opensearch import OpenSearchServer
    from tests.servers.server_process import CannotRunHere

    try:
        server = OpenSearchServer()
    except (JarsUnavailable, JavaNotFound, CannotRunHere) as error:
        cannot_have("OpenSearch", error)
    yield server
    server.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name the seed, each server that a test could not have, and what was left behind."""
    chance = config.getoption("randomly_seed", default=None)
    if chance is not None:
        terminalreporter.write_line(f"seed: {chance} (the same again: pytest --randomly-seed={chance})")
    for server, reason in sorted(_missing(terminalreporter).items()):
        terminalreporter.write_line(f"could not have {server}: {reason}", red=True, bold=True)
    for process in _left:
        terminalreporter.write_line(f"left behind: {process}", red=True, bold=True)
    for folder in _kept:
        terminalreporter.write_line(f"kept until the next run: {folder}")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """End what is left. With CI=true that is a failure, as a missing server is, not a gap that nobody sees."""
    _end_fork_server()
    run = guardian.begin()
    interrupted = exitstatus == pytest.ExitCode.INTERRUPTED
    _left.extend(map(str, run.end(0 if interrupted else LEFT_ALONE_S)))
    _kept.extend(map(str, run.keep(_failed)))
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output.update(left=_left, kept=_kept)
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    is_bad = bool(_left) or (reporter is not None and bool(_missing(reporter)))
    if os.environ.get("CI") == "true" and exitstatus == pytest.ExitCode.OK and is_bad:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Take over what a process of pytest-xdist says of its own end."""
    output = getattr(node, "workeroutput", {})
    _left.extend(output.get("left", []))
    _kept.extend(output.get("kept", []))


def _end_fork_server() -> None:
    """End this process's own, of tests that run a worker in it. It would end with us: nobody left it behind."""
    server = forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined]
    if server is not None:
        try:
            os.kill(server, signal.SIGKILL)
            os.waitpid(server, 0)
        except (ProcessLookupError, ChildProcessError):
            pass  # a test killed it
    tracker = resource_tracker._resource_tracker
    number = tracker._pid  # type: ignore[attr-defined]
    stopping = threading.Thread(target=tracker._stop, daemon=True)  # type: ignore[attr-defined]
    stopping.start()
    stopping.join(LEFT_ALONE_S)
    if stopping.is_alive():  # what a test left behind has its pipe
        os.kill(number, signal.SIGKILL)
        stopping.join()


def _missing(reporter: pytest.TerminalReporter) -> dict[str, str]:
    found = {}
    for report in reporter.stats.get("skipped", []):
        if isinstance(report.longrepr, tuple):
            reason = report.longrepr[2].removeprefix("Skipped: ")
            if reason.startswith(MISSING):
                server, _, why = reason.removeprefix(MISSING).partition(": ")
                found[server] = why
    return found
