"""Which Spark a JVM is started from."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from spark_sink.session.installation import home_for, spark_home, spark_version
from spark_sink.session.masters import Kind


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SPARK_HOME", raising=False)


@pytest.mark.parametrize("kind", [Kind.LOCAL, Kind.STANDALONE])
def test_workers_with_our_python_import_pyspark_from_where_it_is_installed(kind: Kind) -> None:
    home = home_for(kind, sys.executable)
    assert not (home / "python").exists(), "where Spark looks for its archive of sources"
    assert (home / "bin" / "spark-submit").exists()
    assert list((home / "jars").glob(f"spark-core_*-{spark_version()}.jar"))
    assert home_for(kind, sys.executable) == home


@pytest.mark.parametrize(
    ("kind", "python"), [(Kind.YARN, sys.executable), (Kind.LOCAL, "/usr/bin/other"), (Kind.LOCAL, None)]
)
def test_others_have_spark_s_own_copy(kind: Kind, python: str | None) -> None:
    assert home_for(kind, python) == spark_home()


def test_without_a_cache_they_have_spark_s_own_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))  # a folder without rights is none for root
    assert home_for(Kind.LOCAL, sys.executable) == spark_home()


def test_a_home_that_the_user_names_is_used_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / f"spark-core_2.13-{spark_version()}.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert home_for(Kind.LOCAL, sys.executable) == tmp_path
