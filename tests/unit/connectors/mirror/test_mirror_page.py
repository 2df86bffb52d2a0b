"""docs/connectors/mirror.md says what the code does, and its examples are taken."""

import re
from pathlib import Path
from typing import Any

import pytest

from connect.plugins.builtin import BUILT_IN
from connect.settings import properties
from connectors.mirror import MirrorCheckpointConnector, MirrorHeartbeatConnector, MirrorSourceConnector

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "connectors" / "mirror.md").read_text(encoding="utf-8")


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
