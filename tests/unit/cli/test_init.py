"""`connect init plugin`: the package that it writes is a plug-in, and passes its tests, ruff and mypy as it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from connect.cli import main
from connect.cli.init import package
from connect.plugins import PluginKind, Plugins, load

ROOT = Path(__file__).parents[3]
KINDS = ["source", "sink", "transformation", "converter"]


def in_package(folder: Path, *command: str) -> None:
    """Run a Python module in a package, as its author does."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": "", "MYPYPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_it_passes_its_own_tests_as_it_is(tmp_path: Path, kind: str) -> None:
    assert main(["init", "plugin", "my-orders", "--kind", kind, "--folder", str(tmp_path / "p")]) == 0
    in_package(tmp_path / "p", "pytest", "-q", "-p", "no:cacheprovider")
    in_package(tmp_path / "p", "ruff", "check", ".")
    in_package(tmp_path / "p", "ruff", "format", "--check", ".")
    in_package(tmp_path / "p", "mypy", "--ignore-missing-imports", "--follow-imports=silent", "src")


@pytest.mark.parametrize("kind", KINDS)
def test_the_worker_finds_it(tmp_path: Path, kind: str) -> None:
    found = package("my-orders", kind)
    for place, text in found.items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(text)
    points = tomllib.loads(found["pyproject.toml"])["project"]["entry-points"]
    ((group, named),) = points.items()
    ((name, target),) = named.items()
    # As `pip install --target` leaves it in a folder of plugin.path.
    info = tmp_path / "src" / "my_orders-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-orders\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {target}\n")
    (info / "RECORD").write_text("my_orders/__init__.py,,\n")
    ref = Plugins.discover([tmp_path / "src"]).find(PluginKind(kind), name)
    assert (ref.version, ref.target) == ("0.1.0", target)
    sys.modules.pop("my_orders", None)
    try:
        assert load(ref).__name__ == name
    finally:
        sys.modules.pop("my_orders", None)
        sys.path.remove(str(tmp_path / "src"))


def test_names_of_packages_become_names_of_classes() -> None:
    names = {kind: list(package("csv-lines", kind)) for kind in KINDS}
    assert all("src/csv_lines/__init__.py" in places for places in names.values())
    assert (
        "class CsvLinesSourceConnector(SourceConnector)" in package("csv-lines", "source")["src/csv_lines/__init__.py"]
    )
    assert "class CsvConverter(Converter)" in package("csv-converter", "converter")["src/csv_converter/__init__.py"]
    assert not any(word in text for word in ("NAME", "CLASS", "MODULE") for text in package("a", "sink").values())


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("My_Orders", "is not a name for a package. Write small letters"),
        ("class", "is not a name for a package"),
        ("json", "is not a name for a package"),
        ("connect", "is a package of connect-runtime"),
        ("spark-sink", "is a package of connect-runtime"),
        ("kafka", "would hide the package kafka"),
        ("confluent-kafka", "would hide the package confluent_kafka"),
        ("file-stream", '"FileStreamSourceConnector" is the name of a source that is installed'),
    ],
)
def test_names_that_do_not_do_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, says: str
) -> None:
    assert main(["init", "plugin", name, "--kind", "source", "--folder", str(tmp_path / "p")]) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "p").exists()


def test_nothing_that_is_there_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "README.md").write_text("mine")
    assert main(["init", "plugin", "orders", "--kind", "sink", "--folder", str(tmp_path)]) == 2
    assert "is there already, and not empty. Name another folder with --folder." in capsys.readouterr().err
    assert (tmp_path / "README.md").read_text() == "mine"


def test_json_says_what_was_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "p"
    assert main(["init", "plugin", "orders", "--kind", "sink", "--folder", str(folder), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["name"], told["kind"]) == ("orders", "sink")
    assert all(Path(file).is_file() for file in told["files"])
