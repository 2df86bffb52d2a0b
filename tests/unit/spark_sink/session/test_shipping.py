import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from spark_sink.session import shipping
from spark_sink.session.masters import master_of


@pytest.mark.parametrize(
    ("choice", "master", "wanted"),
    [
        ("auto", "local[*]", False),
        ("auto", "spark://h:7077", True),
        ("auto", "sc://h", True),
        ("always", "local[*]", True),
        ("never", "spark://h:7077", False),
    ],
)
def test_code_is_sent_where_it_is_not(choice: str, master: str, wanted: bool) -> None:
    assert shipping.is_wanted(choice, master_of({"spark.master": master})) is wanted


def test_the_runtime_is_imported_from_its_archive(tmp_path: Path) -> None:
    (archive,) = shipping.archives([], tmp_path)
    code = "import connect, spark_sink.error_translation, transforms, connectors; print(connect.__file__)"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(archive)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.stdout.startswith(str(archive)), run.stderr


def test_the_same_code_has_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()

    assert shipping.archives([], tmp_path / "a")[0].name == shipping.archives([], tmp_path / "b")[0].name


def test_plug_in_folders_have_an_archive_each(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("shop", "bank"):
        folder = tmp_path / "plugins" / name
        (folder / "__pycache__").mkdir(parents=True)
        (folder / f"{name}.py").write_text("x = 1")
        (folder / "__pycache__" / "x.pyc").write_bytes(b"")
        (folder / ".env").write_text("password=1")
    (tmp_path / "plugins" / "bank" / "fast.so").write_bytes(b"")
    made = shipping.archives([str(tmp_path / "plugins")], tmp_path)

    assert [each.name.rpartition("-")[0] for each in made] == ["connect-runtime", "plugin-bank", "plugin-shop"]
    assert zipfile.ZipFile(made[2]).namelist() == ["shop.py"]
    assert "bank holds compiled modules" in caplog.text
