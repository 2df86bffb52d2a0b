"""The folder of plug-ins that Kafka Connect's class loaders are given."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from connect.java.plugin_path import plugin_path
from connect.plugins import jars

from .test_jars import class_file, jar

_SOURCE = "org.apache.kafka.connect.source.SourceConnector"
_SERVICE = "org.apache.kafka.connect.transforms.Transformation"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def _services(folder: Path) -> dict[str, str]:
    (manifests,) = folder.glob("manifests-*.jar")
    with zipfile.ZipFile(manifests) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_a_plug_in_without_manifests_is_given_some(tmp_path: Path) -> None:
    plain = jar(tmp_path / "plain.jar", {"acme/Lines": class_file("acme/Lines", _SOURCE.replace(".", "/"))})
    folder = tmp_path / "many"
    folder.mkdir()
    jar(folder / "one.jar", {"acme/Base": class_file("acme/Base", _SOURCE.replace(".", "/"), flags=0x0421)})
    jar(folder / "two.jar", {"acme/Other": class_file("acme/Other", "acme/Base")})
    known = jar(tmp_path / "known.jar", {}, services={_SERVICE: "acme.Mask\n"})
    places = [plain, folder, known]
    path = plugin_path(places)
    one, many, other = sorted(path.iterdir())
    assert {each.resolve() for each in one.glob("0-*")} == {plain.resolve()}
    assert _services(one) == {f"META-INF/services/{_SOURCE}": "acme.Lines\n"}
    assert {each.resolve().name for each in many.glob("[0-9]-*")} == {"one.jar", "two.jar"}
    assert _services(many) == {f"META-INF/services/{_SOURCE}": "acme.Other\n"}
    assert other.is_symlink()
    assert other.resolve() == known.resolve()
    assert plugin_path(places) == path


def test_a_connector_that_the_manifests_beside_it_leave_out_is_named(tmp_path: Path) -> None:
    jar(tmp_path / "p" / "mask.jar", {}, services={_SERVICE: "acme.Mask\n"})
    name = "acme.LinesConnector"
    jar(tmp_path / "p" / "lines.jar", {name: class_file(name, _SOURCE)})
    (one,) = plugin_path([tmp_path / "p"]).iterdir()
    assert not one.is_symlink()
    services = {f"META-INF/services/{_SOURCE}": f"{name}\n", f"META-INF/services/{_SERVICE}": "acme.Mask\n"}
    assert _services(one) == services


def test_a_plug_in_that_is_renewed_is_looked_at_again(tmp_path: Path) -> None:
    place = tmp_path / "plain.jar"
    jar(place, {"acme/Lines": class_file("acme/Lines", _SOURCE.replace(".", "/"))})
    before = plugin_path([place])
    jar(
        place, {"acme/Words": class_file("acme/Words", _SOURCE.replace(".", "/")), "acme/More": class_file("acme/More")}
    )
    after = plugin_path([place])
    assert after != before
    (one,) = after.iterdir()
    assert _services(one) == {f"META-INF/services/{_SOURCE}": "acme.Words\n"}


def test_classes_that_lie_about_are_given_manifests(tmp_path: Path) -> None:
    place = tmp_path / "classes"
    for name in ("acme", "META-INF/services"):
        (place / name).mkdir(parents=True)
    services = place / "META-INF" / "services"
    (services / "java.sql.Driver").write_text("acme.Driver\n")
    (place / "META-INF" / "notice").write_text("Said.")

    def add(name: str) -> None:
        (place / "acme" / f"{name}.class").write_bytes(class_file(f"acme/{name}", _SOURCE.replace(".", "/")))

    add("LinesConnector")
    (one,) = plugin_path([place]).iterdir()
    assert {each.relative_to(one).as_posix(): each.read_text() for each in one.glob("META-INF/**/*.*")} == {
        "META-INF/services/java.sql.Driver": "acme.Driver\n",
        f"META-INF/services/{_SOURCE}": "acme.LinesConnector\n",
    }
    assert (one / "META-INF" / "notice").read_text() == "Said."
    assert (one / "acme").resolve() == place / "acme"
    add("WordsConnector")
    jars._found.cache_clear()  # as in a worker that starts
    (later,) = plugin_path([place]).iterdir()
    assert (later / "META-INF" / "services" / _SOURCE).read_text() == "acme.LinesConnector\nacme.WordsConnector\n"
