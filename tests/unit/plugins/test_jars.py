"""Java plug-ins are found in jars and folders as Kafka Connect finds them, without a JVM."""

from __future__ import annotations

import os
import random
import struct
import zipfile
from pathlib import Path

import pytest

from connect.errors import PluginNotFoundError
from connect.plugins import PluginKind, Plugins
from connect.plugins.class_files import read_class
from connect.plugins.jars import java_folders, java_plugins

SOURCE = "org.apache.kafka.connect.source.SourceConnector"


def class_file(name: str, parent: str = "java.lang.Object", *interfaces: str, flags: int = 0x0021) -> bytes:
    """A class file without fields and methods; a long constant stands before the names, which takes two places."""
    texts = [each.replace(".", "/") for each in (name, parent, *interfaces)]
    pool, indexes = [b"\x05" + struct.pack(">q", 7)], []
    at = 3
    for text in texts:
        data = text.encode()
        pool.append(b"\x01" + struct.pack(">H", len(data)) + data)
        pool.append(b"\x07" + struct.pack(">H", at))
        indexes.append(at + 1)
        at += 2
    head = struct.pack(">IHHH", 0xCAFEBABE, 0, 61, at) + b"".join(pool)
    return head + struct.pack(f">HHHH{len(interfaces)}H", flags, *indexes[:2], len(interfaces), *indexes[2:])


def jar(path: Path, classes: dict[str, bytes], version: str = "", services: dict[str, str] | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        if version:
            archive.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\r\nImplementation-Version: {version}\r\n")
        for name, data in classes.items():
            archive.writestr(f"{name.replace('.', '/')}.class", data)
        for service, text in (services or {}).items():
            archive.writestr(f"META-INF/services/{service}", text)
    return path


def test_a_class_file_says_what_its_class_is() -> None:
    read = read_class(class_file("org.x.Orders$Key", "org.x.Base", "a.B", "c.D"))
    assert (read.name, read.parents, read.concrete) == ("org.x.Orders$Key", ("org.x.Base", "a.B", "c.D"), True)
    assert not read_class(class_file("x.A", flags=0x0421)).concrete  # abstract
    assert not read_class(class_file("x.A", flags=0x0020)).concrete  # not public


def test_what_is_no_class_file_is_refused(seed: int) -> None:
    whole = class_file("org.x.Orders", "org.x.Base", "a.B")
    chance = random.Random(seed)
    for _ in range(2000):
        damaged = bytearray(whole[: chance.randrange(len(whole) + 1)])
        for _ in range(chance.randrange(3)):
            if damaged:
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            read_class(bytes(damaged))
        except ValueError:
            pass


def test_classes_that_extend_kafka_connects_are_found_over_others(tmp_path: Path) -> None:
    one = jar(
        tmp_path / "orders" / "orders.jar",
        {
            "x.OrdersSourceConnector": class_file("x.OrdersSourceConnector", "x.Base"),
            "x.Base": class_file("x.Base", SOURCE, flags=0x0421),
            "x.Mask": class_file("x.Mask", "java.lang.Object", "org.apache.kafka.connect.transforms.Transformation"),
            "x.Circle": class_file("x.Circle", "x.Circle"),
            "x.Other": class_file("x.Other"),
        },
        version="1.2.3",
    )
    (folder,) = java_folders(tmp_path)
    assert folder == one.parent
    found = {(ref.kind, ref.name, ref.version, ref.language) for ref in java_plugins(folder)}
    assert found == {
        (PluginKind.SOURCE, "x.OrdersSourceConnector", "1.2.3", "java"),
        (PluginKind.TRANSFORMATION, "x.Mask", "1.2.3", "java"),
    }


def test_manifests_say_it_where_there_are_any(tmp_path: Path) -> None:
    classes = {"x.A": class_file("x.A", SOURCE), "x.B": class_file("x.B", SOURCE)}
    place = jar(tmp_path / "one.jar", classes, services={SOURCE: "# ours\nx.A # the only one\n\n"})
    assert [ref.name for ref in java_plugins(place)] == ["x.A"]


def test_a_connector_without_a_manifest_is_found_beside_a_jar_that_has_one(tmp_path: Path) -> None:
    api = "org.apache.kafka.connect."
    avro, folder = "x.AvroConverter", tmp_path / "p"
    converter = class_file(avro, "z.Any", f"{api}storage.Converter")
    jar(folder / "avro.jar", {avro: converter}, "7", {f"{api}storage.Converter": avro})
    jar(folder / "base.jar", {"y.Base": class_file("y.Base", f"{api}sink.SinkConnector", flags=0x0421)})
    classes = {
        "y.OrdersSinkConnector": class_file("y.OrdersSinkConnector", "y.Base"),
        "y.HiddenSinkConnector": class_file("y.HiddenSinkConnector", "y.Base", flags=0x0421),
        "y.HttpConnector": class_file("y.HttpConnector"),
        "y.CircleConnector": class_file("y.CircleConnector", "y.CircleConnector"),
    }
    jar(tmp_path / "p" / "orders.jar", classes, version="2.1")
    (tmp_path / "p" / "damaged.jar").write_bytes(b"no archive")
    found = {(ref.kind, ref.name, ref.version) for ref in java_plugins(tmp_path / "p")}
    assert found == {
        (PluginKind.CONVERTER, "x.AvroConverter", "7"),
        (PluginKind.SINK, "y.OrdersSinkConnector", "2.1"),
    }


def test_each_jar_and_each_folder_is_a_plug_in(tmp_path: Path) -> None:
    jar(tmp_path / "b.jar", {"x.B": class_file("x.B", SOURCE)})
    jar(tmp_path / "deep" / "lib" / "c.jar", {"x.C": class_file("x.C", SOURCE)})
    (tmp_path / "classes" / "x").mkdir(parents=True)
    (tmp_path / "classes" / "x" / "D.class").write_bytes(class_file("x.D", SOURCE))
    (tmp_path / "nothing").mkdir()
    (tmp_path / "broken.jar").write_bytes(b"no archive")
    plugins = Plugins.discover([tmp_path])
    found = {ref.name: ref.folder for ref in plugins.all(PluginKind.SOURCE) if ref.language == "java"}
    assert found == {
        "x.B": str(tmp_path / "b.jar"),
        "x.C": str(tmp_path / "deep"),
        "x.D": str(tmp_path / "classes"),
    }
    assert plugins.find(PluginKind.SOURCE, "x.B").target == "java.source:x.B"


@pytest.mark.parametrize("value", [0x00, 0xFF])
def test_a_jar_that_is_damaged_anywhere_keeps_no_other_plug_in_from_being_found(tmp_path: Path, value: int) -> None:
    jar(tmp_path / "whole.jar", {"x.A": class_file("x.A", SOURCE)})
    place = tmp_path / "damaged.jar"
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"META-INF/services/{SOURCE}", "x.B\n" * 50)
        archive.writestr("x/B.class", class_file("x.B", SOURCE))
    whole = place.read_bytes()
    for at in range(len(whole) - 4):
        place.write_bytes(whole[:at] + bytes([value] * 4) + whole[at + 4 :])
        os.utime(place, ns=(at, at))  # so that it is read again
        found = {ref.name for ref in Plugins.discover([tmp_path]).of_java()}
        assert "x.A" in found, at


def test_a_jar_that_is_renewed_is_read_again(tmp_path: Path) -> None:
    place = jar(tmp_path / "one.jar", {"x.A": class_file("x.A", SOURCE)})
    assert [ref.name for ref in java_plugins(place)] == ["x.A"]
    jar(place, {"x.Another": class_file("x.Another", SOURCE)})
    assert [ref.name for ref in java_plugins(place)] == ["x.Another"]


def test_which_language_has_a_name_in_both(tmp_path: Path) -> None:
    ours = "org.apache.kafka.connect.file.FileStreamSourceConnector"
    jar(tmp_path / "file.jar", {ours: class_file(ours, SOURCE)})
    jar(tmp_path / "x.jar", {"orders.Orders": class_file("orders.Orders", SOURCE)})
    (tmp_path / "python").mkdir()
    (tmp_path / "python" / "orders.py").write_text(
        "from connect import SourceConnector\nclass Orders(SourceConnector):\n    pass\n"
    )
    plugins = Plugins.discover([tmp_path])
    assert plugins.find(PluginKind.SOURCE, ours).language == "python"  # Kafka Connect's own name: ours stands for it
    assert plugins.find(PluginKind.SOURCE, ours, language="java").language == "java"
    with pytest.raises(PluginNotFoundError, match=r"twice: .*python in .*java in .*x\.jar\. Set connector\.language"):
        plugins.find(PluginKind.SOURCE, "orders.Orders")
    assert plugins.find(PluginKind.SOURCE, "orders.Orders", language="python").language == "python"
