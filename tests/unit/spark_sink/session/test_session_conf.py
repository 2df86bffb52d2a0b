import re
from collections.abc import Callable
from pathlib import Path

import pytest

from spark_sink.session import conf
from spark_sink.session.masters import Master, master_of
from tests.support.java import JavaProgram


def made(config: dict[str, str]) -> dict[str, str]:
    return conf.spark_conf(config, "orders", master_of(config))


def test_a_key_of_spark_goes_as_it_is_and_ours_do_not() -> None:
    found = made(
        {
            "name": "orders",
            "spark.executor.memory": "3g",
            "spark.driver.memory": "4g",
            "spark.ship.code": "never",
            "spark.shared.session": "s",
            "spark.start.timeout.ms": "5000",
        }
    )

    assert found["spark.executor.memory"] == "3g"
    assert found["spark.driver.memory"] == "4g"
    assert found["spark.app.name"] == "orders"
    assert not {"name", "spark.ship.code", "spark.shared.session", "spark.start.timeout.ms"} & found.keys()


def test_a_local_spark_is_small_and_listens_to_nobody_else() -> None:
    found = made({"spark.master": "local[3]"})

    assert found["spark.sql.shuffle.partitions"] == "3"
    assert found["spark.driver.bindAddress"] == "127.0.0.1"
    assert found["spark.ui.enabled"] == "false"
    assert found[conf.CHECKPOINT_FILES].endswith(".FileSystemBasedCheckpointFileManager")


@pytest.mark.promise("P8")
def test_spark_s_page_hides_the_keys_of_azure_s_storage() -> None:
    hidden = re.compile(made({})["spark.redaction.regex"])

    assert hidden.search("spark.hadoop.fs.azure.account.key.lake.dfs.core.windows.net")
    assert hidden.search("spark.hadoop.fs.azure.sas.orders.lake.blob.core.windows.net")
    assert hidden.search("spark.hadoop.fs.s3a.secret.key")


def test_a_cluster_keeps_spark_s_own_sizes() -> None:
    found = made({"spark.master": "spark://h:7077"})

    assert not {"spark.sql.shuffle.partitions", "spark.driver.bindAddress", "spark.driver.host"} & found.keys()
    assert conf.CHECKPOINT_FILES not in found


def test_a_server_is_told_what_a_session_may_be_told() -> None:
    found = made({"spark.remote": "sc://h", "spark.jars": "/a.jar", "spark.sql.ansi.enabled": "false"})

    assert found["spark.sql.ansi.enabled"] == "false"
    assert found["spark.sql.session.timeZone"] == "UTC"
    assert not {"spark.jars", "spark.master", "spark.sql.extensions", "spark.driver.memory"} & found.keys()


def test_a_server_keeps_no_plans_for_a_session_unless_the_user_wants_it() -> None:
    key = "spark.connect.session.planCache.enabled"

    assert made({"spark.remote": "sc://h"})[key] == "false"
    assert made({"spark.remote": "sc://h", key: "true"})[key] == "true"
    assert key not in made({})


@pytest.mark.parametrize(
    ("config", "ours"),
    [
        ({}, True),
        ({"spark.jars": "/x/other.jar"}, True),
        ({"spark.jars.packages": "io.delta:delta-spark_4.2_2.13:4.3.0"}, False),
        ({"spark.jars": "/x/delta-spark_4.2_2.13-4.3.0.jar"}, False),
        ({"spark.sql.extensions": "org.example.X", "spark.sql.catalog.spark_catalog": "org.example.C"}, False),
    ],
)
def test_delta_is_ours_unless_the_user_brings_another(config: dict[str, str], ours: bool) -> None:
    found = made(config)

    assert (conf.uses_delta(found) and not conf.brings_delta(found)) is ours


def test_jars_of_the_user_stay() -> None:
    assert conf.with_jars({"spark.jars": " /a.jar ,,/b.jar"}, [Path("/d.jar")])["spark.jars"] == "/d.jar,/a.jar,/b.jar"


def test_java_options_of_the_user_come_last() -> None:
    found = conf.with_java_options({"spark.driver.extraJavaOptions": "-Da=2"}, ["-Da=1"])

    assert found["spark.driver.extraJavaOptions"] == "-Da=1 -Da=2"


VALUES = {"spark.a": "back\\slash", "spark.b": "a=b:c#d!", "spark.c": "two\nlines\tand tab", "spark.ü": "Grüße 🎉"}


def test_java_reads_the_property_file_as_it_was_meant(tmp_path: Path, java_program: Callable[..., JavaProgram]) -> None:
    file = tmp_path / "file.properties"
    file.write_text(conf.properties(VALUES), encoding="ascii")
    show = java_program(
        """
        import java.io.*; import java.nio.charset.StandardCharsets; import java.util.*;
        class Show { public static void main(String[] a) throws Exception {
            Properties read = new Properties(); read.load(new FileReader(a[0], StandardCharsets.UTF_8));
            PrintStream out = new PrintStream(System.out, true, "UTF-8");
            for (String key : new TreeSet<>(read.stringPropertyNames()))
                out.print(key + "\\0" + read.getProperty(key) + "\\0");
        } }"""
    )
    parts = show.run(file).split("\0")[:-1]
    assert dict(zip(parts[::2], parts[1::2], strict=True)) == VALUES


def test_a_master_says_what_it_is() -> None:
    assert isinstance(master_of({}), Master)
