"""Where a function of the user's is looked for."""

import pickle
import sys
from pathlib import Path

import pytest

from connect.errors import ConfigError
from spark_sink.tables.hook import ForeachBatch, hooked, load
from spark_sink.tables.settings import TableSettings
from spark_sink.tables.writer import TableWriter


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of plug-ins with a module, one that fails, and a package."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    for folder in ("mine", "theirs"):
        (tmp_path / folder).mkdir()
    (tmp_path / "mine" / "own_hooks.py").write_text("def take(rows, batch, context): ...\ndef two(rows, batch): ...\n")
    (tmp_path / "mine" / "broken_hooks.py").write_text("import nothing_of_this_name\n")
    (tmp_path / "theirs" / "hooks_of_theirs").mkdir()
    (tmp_path / "theirs" / "hooks_of_theirs" / "__init__.py").write_text("")
    (tmp_path / "theirs" / "hooks_of_theirs" / "inner.py").write_text("def take(rows, batch, context): ...\n")
    return tmp_path


def test_it_is_in_a_folder_of_plugins_or_installed(plugins: Path) -> None:
    assert load("own_hooks:take", [str(plugins)]).__module__ == "own_hooks"
    assert load("hooks_of_theirs.inner:take", [str(plugins / "theirs")]).__module__ == "hooks_of_theirs.inner"
    sys.path.insert(0, str(plugins / "theirs"))
    assert load("hooks_of_theirs.inner:take", []).__module__ == "hooks_of_theirs.inner"
    with pytest.raises(ConfigError, match=r"importing own_hooks2 failed: ModuleNotFoundError: .*plugin\.path"):
        load("own_hooks2:take", [str(plugins)])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("os:system", '"os" is of Python itself'),
        ("os.path:join", '"os.path" is of Python itself'),
        ("own_hooks:two", r"does not take three arguments. Write def two\(rows, batch, context\)"),
        ("own_hooks:nothing", "has no function nothing"),
    ],
)
def test_what_is_no_function_for_it_is_refused(plugins: Path, name: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        load(name, [str(plugins)])


def test_only_the_folder_that_has_it_is_on_the_path(plugins: Path) -> None:
    load("own_hooks:take", [str(plugins)])
    assert str(plugins / "mine") in sys.path
    assert str(plugins / "theirs") not in sys.path


def test_a_module_that_fails_is_an_error_of_the_key(plugins: Path) -> None:
    with pytest.raises(ConfigError, match="importing broken_hooks failed: .*nothing_of_this_name") as raised:
        load("broken_hooks:take", [str(plugins)])
    assert raised.value.key == "foreach.batch"


def test_it_travels_by_its_name(plugins: Path) -> None:
    settings = TableSettings.of({"name": "c", "table": "/lake/orders", "foreach.batch": "own_hooks:take"})
    made = hooked(TableWriter(settings, "c", "connect/c/1/q"), [str(plugins)])
    assert isinstance(made, ForeachBatch)
    made._function = lambda *_: None
    assert pickle.loads(pickle.dumps(made)) == ForeachBatch(made.writer, (str(plugins),))
    without = TableWriter(TableSettings.of({"name": "c", "table": "/lake/orders"}), "c", "connect/c/1/q")
    assert hooked(without, []) is without
