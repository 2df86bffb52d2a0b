import subprocess
import sys
from pathlib import Path
from pkgutil import resolve_name

import msgspec
import pytest

from connect.errors import PluginNotFoundError
from connect.plugins import PluginKind, PluginRef, Plugins
from connect.plugins.builtin import BUILT_IN

from .test_jars import SOURCE, class_file, jar

CONNECTORS = (PluginKind.SOURCE, PluginKind.SINK)
BOOM = "raise SystemExit('finding a plug-in must not import it')\n"
ORDERS = (
    BOOM
    + """
from connect import SinkConnector, SinkTask

class OrdersSinkConnector(SinkConnector):
    version = "{version}"
"""
)


def install(folder: Path, name: str, version: str, entry_points: str) -> None:
    """What `pip install --target` leaves of a package's metadata."""
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(entry_points)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "name",
    [
        "FileStreamSource",
        "FileStreamSourceConnector",
        "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "connectors.file.FileStreamSourceConnector",
        "connectors.file:FileStreamSourceConnector",
    ],
)
def test_a_connector_of_ours_answers_to_its_java_names_and_to_its_python_name(name: str) -> None:
    ref = Plugins.discover().find(CONNECTORS, name)
    assert ref.name == "org.apache.kafka.connect.file.FileStreamSourceConnector"
    assert ref.kind is PluginKind.SOURCE
    assert ref.target == "connectors.file:FileStreamSourceConnector"
    assert ref.task == "org.apache.kafka.connect.file.FileStreamSourceTask"


@pytest.mark.parametrize(
    ("kind", "name", "target"),
    [
        (PluginKind.CONVERTER, "org.apache.kafka.connect.json.JsonConverter", "connect.converters:JsonConverter"),
        (PluginKind.CONVERTER, "Json", "connect.converters:JsonConverter"),
        (PluginKind.HEADER_CONVERTER, "Simple", "connect.converters:SimpleHeaderConverter"),
        (PluginKind.HEADER_CONVERTER, "StringConverter", "connect.converters:StringConverter"),
        (PluginKind.CONFIG_PROVIDER, "EnvVar", "connect.settings.providers:EnvVarConfigProvider"),
        (PluginKind.OVERRIDE_POLICY, "Principal", "connect.api.policy:PrincipalOverrides"),
        (PluginKind.TRANSFORMATION, "EventRouter", "transforms.event_router:EventRouter"),
        (PluginKind.TRANSFORMATION, "TombstoneHandler", "transforms.tombstone_handler:TombstoneHandler"),
        (PluginKind.TRANSFORMATION, "ExtractTopic$Header", "transforms.extract_topic:ExtractTopicHeader"),
        # There are three of this name: the short one is Kafka Connect's.
        (PluginKind.TRANSFORMATION, "Filter", "transforms.filter:Filter"),
        (PluginKind.TRANSFORMATION, "Filter$Value", "transforms.filter_by_path:FilterByPathValue"),
        (PluginKind.TRANSFORMATION, "ReplaceField$Key", "transforms.replace_field:ReplaceFieldKey"),
        (
            PluginKind.TRANSFORMATION,
            "io.confluent.connect.transforms.ReplaceField$Key",
            "transforms.replace_field:ReplaceNestedFieldKey",
        ),
        (PluginKind.TRANSFORMATION, "io.debezium.transforms.Filter", "transforms.content_based:FilterByExpression"),
        (
            PluginKind.TRANSFORMATION,
            "io.confluent.connect.cloud.transforms.TopicRegexRouter",
            "transforms.regex_router:RegexRouter",
        ),
    ],
)
def test_short_names_are_cut_as_java_cuts_them(kind: PluginKind, name: str, target: str) -> None:
    assert Plugins.discover().find(kind, name).target == target


def test_all_that_comes_with_the_runtime_is_there() -> None:
    for ref in BUILT_IN:
        if ref.kind in (PluginKind.TRANSFORMATION, PluginKind.PREDICATE):
            assert resolve_name(ref.target)


def test_a_module_in_a_folder_is_found_by_its_bases_without_running_it(tmp_path: Path) -> None:
    write(tmp_path / "orders.py", ORDERS.format(version="1.2"))
    plugins = Plugins.discover([tmp_path])
    expected = PluginRef(
        name="orders.OrdersSinkConnector",
        kind=PluginKind.SINK,
        target="orders:OrdersSinkConnector",
        aliases=("OrdersSinkConnector", "OrdersSink"),
        folder=str(tmp_path),
        version="1.2",
    )
    for name in ("OrdersSink", "OrdersSinkConnector", "orders.OrdersSinkConnector", "orders:OrdersSinkConnector"):
        assert plugins.find(CONNECTORS, name) == expected
    assert "orders" not in sys.modules


@pytest.mark.parametrize(
    "source",
    [
        "import connect\nclass Mine(connect.SourceConnector): ...",
        "import connect.api as api\nclass Mine(api.SourceConnector): ...",
        "from connect import SourceConnector as Base\nclass Mine(Base): ...",
        "from connect import *\nclass Mine(SourceConnector): ...",
        "from connect.api.connector import SourceConnector\nclass _Base(SourceConnector): ...\nclass Mine(_Base): ...",
        "if True:\n    from connect import SourceConnector\nclass Mine(SourceConnector): ...",
        "from .other import Base\nclass Mine(Base): ...",
        "from pack.other import *\nclass Mine(Base): ...",
        "from pack import other\nclass Mine(other.Base): ...",
    ],
)
def test_the_kind_of_a_class_is_read_through_imports_and_bases(tmp_path: Path, source: str) -> None:
    write(tmp_path / "pack/__init__.py", "")
    write(tmp_path / "pack/other.py", BOOM + "from connect import SourceConnector\nclass Base(SourceConnector): ...")
    write(tmp_path / "pack/mine.py", BOOM + source)
    assert Plugins.discover([tmp_path]).find(CONNECTORS, "Mine").kind is PluginKind.SOURCE


def test_a_class_is_found_where_a_package_offers_it_again(tmp_path: Path) -> None:
    write(tmp_path / "orders/__init__.py", BOOM + "from orders._sink import OrdersSinkConnector")
    write(tmp_path / "orders/_sink.py", ORDERS.format(version="1"))
    ref = Plugins.discover([tmp_path]).find(CONNECTORS, "orders.OrdersSinkConnector")
    assert (ref.kind, ref.target) == (PluginKind.SINK, "orders:OrdersSinkConnector")


def test_a_file_hides_no_plugin_that_is_installed_beside_it(tmp_path: Path) -> None:
    write(tmp_path / "orders.py", ORDERS.format(version="1.0"))
    write(tmp_path / "tests/fakes.py", ORDERS.format(version="1.0").replace("Orders", "Fake"))
    write(tmp_path / "bills-2.0/bills.py", ORDERS.format(version="2.0").replace("Orders", "Bills"))
    install(tmp_path / "bills-2.0", "bills", "2.0", "[connect.sinks]\nBillsSink = bills:BillsSinkConnector\n")
    found = Plugins.discover([tmp_path])
    assert found.find(CONNECTORS, "OrdersSink").folder == str(tmp_path)
    assert found.find(CONNECTORS, "BillsSink").folder == str(tmp_path / "bills-2.0")
    with pytest.raises(PluginNotFoundError):
        found.find(CONNECTORS, "FakeSink")


def test_entry_points_of_a_folder_count_and_may_carry_a_java_name(tmp_path: Path) -> None:
    write(tmp_path / "nats/nats_sink.py", BOOM + "NatsSink = type('NatsSink', (), {})")
    install(
        tmp_path / "nats",
        "nats",
        "10.8",
        "[connect.sinks]\ncom.example.connect.nats.NatsSinkConnector=nats_sink:NatsSink",
    )
    ref = Plugins.discover([tmp_path]).find(CONNECTORS, "NatsSink")
    assert ref.name == "com.example.connect.nats.NatsSinkConnector"
    assert (ref.target, ref.version, ref.folder) == ("nats_sink:NatsSink", "10.8", str(tmp_path / "nats"))


def test_the_text_of_a_package_is_not_searched_only_loose_modules_are(tmp_path: Path) -> None:
    write(tmp_path / "library/sinks.py", ORDERS.format(version="1").replace("Orders", "Internal"))
    write(tmp_path / "library/__init__.py", "")
    install(tmp_path, "library", "1.0", "")
    write(tmp_path / "library-1.0.dist-info/RECORD", "library/__init__.py,,\nlibrary/sinks.py,,\n")
    write(tmp_path / "orders.py", ORDERS.format(version="1"))
    plugins = Plugins.discover([tmp_path])
    assert [ref.name for ref in plugins.all() if ref.folder] == ["orders.OrdersSinkConnector"]
    assert plugins.find(CONNECTORS, "library.sinks.InternalSinkConnector").kind is PluginKind.SINK


def test_an_installed_package_is_found_by_its_entry_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "masks", "2.0", "[connect.transformations]\nMaskAll = masks.all:MaskAll")
    monkeypatch.syspath_prepend(tmp_path)
    ref = Plugins.discover().find(PluginKind.TRANSFORMATION, "MaskAll")
    assert (ref.name, ref.target, ref.folder) == ("masks.all.MaskAll", "masks.all:MaskAll", None)


def test_the_latest_version_in_the_range_is_taken(tmp_path: Path) -> None:
    for version in ("1.9", "1.10", "2.0rc1"):
        write(tmp_path / version / "orders.py", ORDERS.format(version=version))
    plugins = Plugins.discover([tmp_path])
    assert plugins.find(CONNECTORS, "OrdersSink").version == "2.0rc1"
    assert plugins.find(CONNECTORS, "OrdersSink", "[1.0,2.0-alpha)").version == "1.10"
    assert plugins.find(CONNECTORS, "OrdersSink", "1.9").folder == str(tmp_path / "1.9")
    with pytest.raises(PluginNotFoundError, match=r"is here in version .*1\.10.*, not in \[3,\)"):
        plugins.find(CONNECTORS, "OrdersSink", "[3,)")


def test_an_alias_of_two_is_refused_with_both_full_names(tmp_path: Path) -> None:
    write(tmp_path / "a/first.py", ORDERS.format(version="1"))
    write(tmp_path / "b/second.py", ORDERS.format(version="1"))
    plugins = Plugins.discover([tmp_path])
    with pytest.raises(PluginNotFoundError, match=r"first\.OrdersSinkConnector and for second.OrdersSinkConnector"):
        plugins.find(CONNECTORS, "OrdersSink")
    assert plugins.find(CONNECTORS, "second.OrdersSinkConnector").folder == str(tmp_path / "b")


def test_what_is_not_found_is_answered_with_near_names_and_the_places_looked_at(tmp_path: Path) -> None:
    write(tmp_path / "broken.py", "import connect\nclass Broken(\n")
    with pytest.raises(PluginNotFoundError) as caught:
        Plugins.discover([tmp_path]).find(CONNECTORS, "FileStreamSorce")
    message = str(caught.value)
    assert 'There is no sink or source "FileStreamSorce". Did you mean FileStreamSource' in message
    assert str(tmp_path) in message
    assert "broken.py:2" in message


def test_jars_are_among_the_places_looked_at_and_damaged_ones_are_named(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "half.jar").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(PluginNotFoundError) as caught:
        Plugins.discover([tmp_path]).find(CONNECTORS, "com.acme.OrdersSink")
    message = str(caught.value)
    assert f"in installed packages and in {tmp_path}. " in message
    assert f"Could not read {tmp_path}/mine/half.jar: BadZipFile" in message


def test_jars_without_a_version_say_where_it_is_looked_for(tmp_path: Path) -> None:
    for name in ("one", "two"):
        jar(tmp_path / name / "a.jar", {"x.LinesConnector": class_file("x.LinesConnector", SOURCE)})
    with pytest.raises(PluginNotFoundError) as caught:
        Plugins.discover([tmp_path]).find(CONNECTORS, "x.LinesConnector", "2.0")
    told = "one that says no version (a jar says it in its manifest: Implementation-Version)"
    assert str(caught.value) == f'"x.LinesConnector" is here in version {told}, not in 2.0.'


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("entry_points.txt", b"[connect.sinks]\nno equals sign\n"),
        ("entry_points.txt", b"[connect.sinks]\nOrders = orders:\xff\n"),
        ("RECORD", b"orders.py,,\n\n"),
    ],
)
def test_a_package_with_damaged_metadata_keeps_no_other_plug_in_from_being_found(
    tmp_path: Path, file: str, content: bytes
) -> None:
    install(tmp_path / "broken", "broken", "1.0", "")
    (tmp_path / "broken" / "broken-1.0.dist-info" / file).write_bytes(content)
    install(tmp_path / "orders", "orders", "2.0", "[connect.sinks]\nOrdersSinkConnector = orders:OrdersSinkConnector\n")
    plugins = Plugins.discover([tmp_path])
    assert plugins.find(CONNECTORS, "OrdersSinkConnector").version == "2.0"
    with pytest.raises(PluginNotFoundError, match=f"Could not read {tmp_path}/broken/broken-1.0.dist-info/{file}: "):
        plugins.find(CONNECTORS, "Unknown")


def test_an_installed_package_with_damaged_metadata_keeps_no_other_plug_in_from_being_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "broken", "1.0", "[connect.sinks]\nno equals sign\n")
    install(tmp_path, "orders", "2.0", "[connect.sinks]\nOrdersSinkConnector = orders:OrdersSinkConnector\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert Plugins.discover().find(CONNECTORS, "OrdersSinkConnector").version == "2.0"


def test_a_name_of_another_kind_says_what_it_is() -> None:
    with pytest.raises(PluginNotFoundError, match='"StringConverter" is a converter, not a sink or source'):
        Plugins.discover().find(CONNECTORS, "StringConverter")


def test_a_module_of_the_current_folder_is_pointed_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "my_connector.py", ORDERS.format(version="1"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PluginNotFoundError, match=r"my_connector.py lies in the current folder: set plugin.path=\."):
        Plugins.discover().find(CONNECTORS, "my_connector.OrdersSinkConnector")
    assert Plugins.discover([Path()]).find(CONNECTORS, "my_connector.OrdersSinkConnector").folder == str(tmp_path)


def test_everything_is_listed_once_and_a_reference_survives_json(tmp_path: Path) -> None:
    write(tmp_path / "orders.py", ORDERS.format(version="1"))
    found = Plugins.discover([tmp_path]).all()
    assert len(found) == len(set(found))
    assert {"orders.OrdersSinkConnector", "org.apache.kafka.connect.json.JsonConverter"} <= {ref.name for ref in found}
    assert msgspec.json.decode(msgspec.json.encode(found), type=list[PluginRef]) == found


def test_looking_up_our_own_plug_ins_reads_and_imports_nothing() -> None:
    heavy = "('connectors', 'connect.converters', 'pyarrow', 'confluent_kafka', 'importlib.metadata', 'asyncio')"
    code = (
        "import sys; from connect.plugins import Plugins, PluginKind as K; "
        "Plugins.discover(['/']).find([K.SOURCE], 'FileStreamSource'); "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
