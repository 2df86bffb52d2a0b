"""A session of a Spark Connect server, and of addresses where there is none."""

import socket
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from connect.errors import ConfigError, ConnectError, DataError, RetriableError
from connect.ports import free_port
from spark_sink.error_translation import translate_error
from spark_sink.session import open_session
from spark_sink.session.jvm import Stopped
from spark_sink.session.server import Server
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_shared_spark")]


def test_a_session_of_a_server_writes_and_reads_a_delta_table(connect_server: Server, tmp_path: Path) -> None:
    table = str(tmp_path / "table")
    with open_session({"spark.remote": connect_server.url, "spark.sql.ansi.enabled": "false"}, "remote") as session:
        session.spark.range(100).write.format("delta").save(table)
        session.spark.sql(f"MERGE INTO delta.`{table}` t USING (SELECT 5 id) s ON t.id = s.id WHEN MATCHED THEN DELETE")

        assert session.remote
        assert session.pid is None
        assert session.spark.read.format("delta").load(table).count() == 99
        assert session.spark.conf.get("spark.sql.session.timeZone") == "UTC"
        assert session.spark.conf.get("spark.sql.ansi.enabled") == "false"


def test_the_server_is_sent_our_code(connect_server: Server) -> None:
    def here(batches: Any) -> Any:
        import connect

        for batch in batches:
            batch["code"] = connect.__file__
            yield batch

    with open_session({"spark.master": connect_server.url}, "code") as session:
        row = session.spark.range(1).mapInPandas(here, "id bigint, code string").first()
        assert not any("connect-runtime-" in each for each in sys.path)

    assert "connect-runtime-" in row.code
    assert ".zip/connect/__init__.py" in row.code


def test_functions_are_those_of_the_session_that_is_open(connect_server: Server, shared_spark: Any) -> None:
    from pyspark.sql import functions

    with open_session({"spark.remote": connect_server.url}, "functions") as session:
        assert session.spark.range(3).select(functions.max("id")).first()[0] == 2
    local = shared_spark.get().spark
    assert local.range(3).select(functions.max("id")).first()[0] == 2


def test_an_error_of_ours_comes_from_a_server_as_itself(connect_server: Server, tmp_path: Path) -> None:
    def fail(batch: Any, batch_id: int) -> None:
        from connect.errors import DataError

        raise DataError("the value is not JSON.")

    def fail_in_executor(batches: Any) -> Any:
        from connect.errors import RetriableError

        raise RetriableError("the service is away.")
        yield from batches

    with open_session({"spark.remote": connect_server.url}, "errors") as session:
        rates = session.spark.readStream.format("rate").load()
        query = rates.writeStream.option("checkpointLocation", str(tmp_path)).foreachBatch(fail).start()
        with pytest.raises(Exception) as of_driver:  # noqa: PT011  what it becomes is tested
            query.awaitTermination(60)
        with pytest.raises(Exception) as of_executor:  # noqa: PT011
            session.spark.range(1).mapInPandas(fail_in_executor, "id bigint").collect()
        with pytest.raises(Exception) as of_nothing:  # noqa: PT011
            session.spark.read.format("delta").load(str(tmp_path / "nothing")).count()

    assert type(translate_error(of_driver.value)) is DataError
    assert str(translate_error(of_driver.value)) == "the value is not JSON."
    assert type(translate_error(of_executor.value)) is RetriableError
    assert str(translate_error(of_executor.value)) == "the service is away."
    assert "does not find" in str(translate_error(of_nothing.value))


def test_a_session_that_ends_leaves_no_query_behind(connect_server: Server, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    seen = str(mark)

    def write(batch: Any, batch_id: int) -> None:
        Path(seen).write_text(str(batch_id))

    with open_session({"spark.remote": connect_server.url}, "query") as session:
        rates = session.spark.readStream.format("rate").load()
        rates.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint")).foreachBatch(write).start()
        until(mark.exists, every=0.1)
    with open_session({"spark.remote": connect_server.url}, "look") as session:
        # Of a server, a session sees its own queries only; what it writes is what counts.
        mark.unlink()
        rates = session.spark.readStream.format("rate").load()
        alive = rates.writeStream.option("checkpointLocation", str(tmp_path / "alive")).format("noop").start()
        until(lambda: len(alive.recentProgress) > 3, every=0.1)  # a query that lives writes meanwhile

    assert not mark.exists()


def test_a_wrong_token(connect_server: Server) -> None:
    with pytest.raises(ConnectError, match="refused the login") as caught:
        open_session({"spark.remote": f"sc://localhost:{connect_server.port}/;token=wrong-token"}, "token")

    assert "wrong-token" not in str(caught.value)


@pytest.mark.parametrize(
    "config", [{"spark.remote": "sc://localhost:{port}"}, {"spark.master": "spark://127.0.0.1:{port}"}]
)
def test_an_address_where_nobody_listens(config: dict[str, str]) -> None:
    port = free_port()
    config = {key: value.format(port=port) for key, value in config.items()}

    with pytest.raises(RetriableError, match=f":{port} does not answer .connection refused"):
        open_session(config, "nobody")


@pytest.mark.parametrize(
    "config", [{"spark.remote": "sc://no.such.host.invalid"}, {"spark.master": "spark://no.invalid:7077"}]
)
def test_a_host_that_is_not_known(config: dict[str, str]) -> None:
    with pytest.raises(RetriableError, match="invalid is not known here"):
        open_session(config, "unknown")


@pytest.mark.parametrize("form", ["sc://localhost:{port}", "spark://127.0.0.1:{port}"])
def test_something_that_listens_and_is_no_spark(form: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = form.format(port=silent.getsockname()[1])
        with pytest.raises(ConnectError, match="does not answer|did not come up in time"):
            open_session({"spark.master": address, "spark.start.timeout.ms": "15000"}, "silent")


def test_a_task_that_stops_does_not_wait_for_a_server() -> None:
    stopping = threading.Event()
    threading.Timer(0.5, stopping.set).start()

    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(Stopped):
        open_session({"spark.remote": f"sc://localhost:{silent.getsockname()[1]}"}, "stop", stopping=stopping.is_set)


def test_a_server_of_another_version(connect_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.__version__", "4.0.1")

    with pytest.raises(ConnectError, match=r"runs Spark 4\.2\.0, and this worker has PySpark 4\.0\.1"):
        open_session({"spark.remote": connect_server.url}, "version")


def test_two_places_at_once() -> None:
    with pytest.raises(ConfigError, match=r'"spark\.remote"'):
        open_session({"spark.remote": "sc://localhost", "spark.master": "local[2]"}, "two")


def test_a_client_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [each for each in sys.modules if each.split(".")[0] == "grpc_status"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "grpc_status", None)

    with pytest.raises(ConnectError, match=r"needs grpc_status.*connect-runtime\[spark\]"):
        open_session({"spark.remote": "sc://localhost"}, "client")
