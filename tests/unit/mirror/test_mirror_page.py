"""docs/connectors/mirror.md says of each key what the code says, and its examples are taken."""

import re
from pathlib import Path
from typing import Any

import pytest

from connect.plugins.builtin import BUILT_IN
from connect.settings import Definition, properties
from connect.settings.definition import text
from connect.settings.setting import REQUIRED
from connectors.mirror import MirrorCheckpointConnector, MirrorHeartbeatConnector, MirrorSourceConnector
from connectors.mirror.keys import CHECKPOINT_SETTINGS, COMMON, HEARTBEAT_SETTINGS, SOURCE_SETTINGS

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "connectors" / "mirror.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `([^`]+)` \| (\w+) \| (.+?) \| (.+) \|$", re.MULTILINE)


def _default(value: Any) -> str:
    return "required" if value is REQUIRED else (text(value) or "none")


@pytest.mark.parametrize(
    ("of", "settings"),
    [
        ("all three", COMMON),
        ("the source connector", SOURCE_SETTINGS),
        ("the checkpoint connector", CHECKPOINT_SETTINGS),
        ("the heartbeat connector", HEARTBEAT_SETTINGS),
    ],
)
def test_the_page_lists_the_keys_as_they_are(of: str, settings: Definition) -> None:
    section = PAGE.partition(f"## Keys of {of}\n")[2].partition("\n## ")[0]
    listed = {
        key: (kind, default.replace("\\|", "|"), meaning.replace("\\|", "|"))
        for key, kind, default, meaning in ROW.findall(section)
    }
    declared = {
        s.name: (s.kind.value.lower(), _default(s.default), s.doc)
        for s in settings
        if not s.internal and (settings is COMMON or s.name not in COMMON)
    }
    assert listed == declared


def test_the_page_names_the_connectors_as_they_are_found() -> None:
    refs = [ref for ref in BUILT_IN if ref.target.startswith("connectors.mirror:")]
    assert len(refs) == 3
    for ref in refs:
        assert ref.task == ref.name.replace("Connector", "Task")
        assert all(f"`{name}`" in PAGE for name in (ref.name, *ref.aliases))


PLUGINS: dict[str, Any] = {
    "MirrorSource": MirrorSourceConnector,
    "MirrorCheckpoint": MirrorCheckpointConnector,
    "MirrorHeartbeat": MirrorHeartbeatConnector,
}
EXAMPLES = re.findall(r"```properties\n(.*?)```", PAGE, re.DOTALL)
FILES = [(ROOT / "config" / f"connect-mirror-{name}.properties") for name in ("source", "checkpoint", "heartbeat")]


@pytest.mark.parametrize("written", [*EXAMPLES, *(file.read_text("utf-8") for file in FILES)])
def test_examples_are_taken(written: str) -> None:
    config = dict(properties.loads(written))
    plugin = PLUGINS[config["connector.class"]]
    assert [value for value in plugin().validate(config) if value.errors] == []
