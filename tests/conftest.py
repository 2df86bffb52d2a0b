"""What all tests share: the seed, the broker, databases, and the account of servers that could not be had."""

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NoReturn

import hypothesis
import pytest

if TYPE_CHECKING:
    from connect.kafka.broker import Broker
    from tests.servers.elasticsearch import ElasticsearchServer
    from tests.servers.mariadb import MariaServer
    from tests.servers.opensearch import OpenSearchServer
    from tests.servers.postgresql import PostgresDatabase, PostgresServer
    from tests.servers.s3 import S3Bucket, S3Server

MISSING = "cannot have "

# A property that takes longer on a busy machine holds all the same.
hypothesis.settings.register_profile("no deadline", hypothesis.settings(deadline=None))
hypothesis.settings.load_profile("no deadline")

# A shell starts what runs in its background with these ignored, and everything started from here would inherit that:
# programs under test could then not be interrupted.
for _number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)


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
def broker(
    tmp_path_factory: pytest.TempPathFactory, cannot_have: Callable[[str, object], NoReturn]
) -> Iterator["Broker"]:
    """One real Kafka broker for the whole run, with `.bootstrap_servers`. Use topic names of your own."""
    from connect.jvm.jars import JarsUnavailable
    from connect.jvm.java import JavaNotFound
    from connect.kafka.broker import ensure_running

    data = tmp_path_factory.mktemp("broker")
    try:
        running = ensure_running(data, port=0)
    except (JavaNotFound, JarsUnavailable) as error:
        cannot_have("Kafka broker", error)
    # The broker outlives whoever started it. This one stops it when our end of the pipe closes, even if we are killed.
    code = (
        "import pathlib, sys; from connect.kafka.broker import stop; sys.stdin.read(); stop(pathlib.Path(sys.argv[1]))"
    )
    with subprocess.Popen([sys.executable, "-c", code, data], stdin=subprocess.PIPE, start_new_session=True):
        yield running


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
    from tests.servers.s3 import GatewayUnavailable, VersityGateway

    try:
        server = VersityGateway()
    except GatewayUnavailable as error:
        cannot_have("Versity's S3 gateway", error)
    yield server
    server.close()


@pytest.fixture(scope="session")
def elasticsearch(cannot_have: Callable[[str, object], NoReturn]) -> Iterator["ElasticsearchServer"]:
    """One real Elasticsearch for the whole run, without security. Use indices of your own."""
    from connect.jvm.jars import JarsUnavailable
    from connect.jvm.java import JavaNotFound
    from tests.servers.elasticsearch import ElasticsearchServer

    try:
        server = ElasticsearchServer()
    except (JarsUnavailable, JavaNotFound) as error:
        cannot_have("Elasticsearch", error)
    yield server
    server.close()


@pytest.fixture(scope="session")
def opensearch(cannot_have: Callable[[str, object], NoReturn]) -> Iterator["OpenSearchServer"]:
    """One real OpenSearch for the whole run. Use indices of your own."""
    from connect.jvm.jars import JarsUnavailable
    from connect.jvm.java import JavaNotFound
    from tests.servers.opensearch import OpenSearchServer

    try:
        server = OpenSearchServer()
    except (JarsUnavailable, JavaNotFound) as error:
        cannot_have("OpenSearch", error)
    yield server
    server.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name the seed, and each server that a test could not have."""
    chance = config.getoption("randomly_seed", default=None)
    if chance is not None:
        terminalreporter.write_line(f"seed: {chance} (the same again: pytest --randomly-seed={chance})")
    for server, reason in sorted(_missing(terminalreporter).items()):
        terminalreporter.write_line(f"could not have {server}: {reason}", red=True, bold=True)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """With CI=true a server that is missing is a failure, not a gap that nobody sees."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter and os.environ.get("CI") == "true" and exitstatus == pytest.ExitCode.OK and _missing(reporter):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _missing(reporter: pytest.TerminalReporter) -> dict[str, str]:
    found = {}
    for report in reporter.stats.get("skipped", []):
        if isinstance(report.longrepr, tuple):
            reason = report.longrepr[2].removeprefix("Skipped: ")
            if reason.startswith(MISSING):
                server, _, why = reason.removeprefix(MISSING).partition(": ")
                found[server] = why
    return found
