import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from connect import SinkConnector
from connect.plugins import PluginKind, PluginLoadError, PluginRef, Plugins, load

SINK = "from connect import SinkConnector, SinkTask\nclass Sink(SinkConnector): ...\n"


@pytest.fixture(autouse=True)
def _modules_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", sys.path[:])
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def ref(tmp_path: Path, text: str, name: str = "Sink", kind: PluginKind = PluginKind.SINK) -> PluginRef:
    (tmp_path / "some_plugin.py").write_text(text)
    return PluginRef(name=f"some_plugin.{name}", kind=kind, target=f"some_plugin:{name}", folder=str(tmp_path))


def test_a_plug_in_of_a_folder_is_loaded_with_the_folder_first_on_the_path(tmp_path: Path) -> None:
    (tmp_path / "its_library.py").write_text("VERSION = 2")
    loaded = load(ref(tmp_path, "import its_library\n" + SINK))
    assert issubclass(loaded, SinkConnector)
    assert sys.path[0] == str(tmp_path)


def test_the_plug_ins_of_the_seams_can_be_loaded() -> None:
    for found in Plugins.discover().all():
        if found.kind in (PluginKind.CONFIG_PROVIDER, PluginKind.OVERRIDE_POLICY):
            assert load(found).__name__ == found.target.partition(":")[2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import not_there_at_all\n", "importing some_plugin failed: ModuleNotFoundError: No module named"),
        ("class Sink(:\n", "importing some_plugin failed: SyntaxError"),
        ("1/0\n", "importing some_plugin failed: ZeroDivisionError: division by zero"),
        ("", "the module some_plugin has no Sink"),
        ("def Sink(): ...\n", "it is not a class but of type function. A sink extends connect.SinkConnector"),
        ("class Sink(dict): ...\n", "it extends builtins.dict. A sink extends connect.SinkConnector"),
        ("from connect import SourceConnector\nclass Sink(SourceConnector): ...\n", "it extends connect.*SourceConn"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(PluginLoadError, match=message) as caught:
        load(ref(tmp_path, text))
    assert "\n" not in str(caught.value)
    assert f'"some_plugin.Sink" of {tmp_path}' in str(caught.value)


def test_a_class_that_leaves_methods_out_is_refused_before_it_runs(tmp_path: Path) -> None:
    text = "from connect import Transformation\nclass Half(Transformation): ...\n"
    with pytest.raises(PluginLoadError, match="does not define apply"):
        load(ref(tmp_path, text, "Half", PluginKind.TRANSFORMATION))


def test_a_module_that_was_loaded_from_elsewhere_is_not_taken_for_the_folder_s(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    load(ref(tmp_path / "a", SINK))
    with pytest.raises(PluginLoadError, match=r"already has a module some_plugin, from .*/a/some_plugin.py"):
        load(ref(tmp_path / "b", SINK))
