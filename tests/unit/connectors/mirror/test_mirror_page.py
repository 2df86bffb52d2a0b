"""docs/connectors/mirror.md says what the code does, and its examples are taken."""

from pathlib import Path

from connect.plugins.builtin import BUILT_IN

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "connectors" / "mirror.md").read_text(encoding="utf-8")


def test_the_page_names_the_connectors_as_they_are_found() -> None:
    refs = [ref for ref in BUILT_IN if ref.target.startswith("connectors.mirror:")]
    assert len(refs) == 3
    for ref in refs:
        assert ref.task == ref.name.replace("Connector", "Task")
        assert all(f"`{name}`" in PAGE for name in (ref.name, *ref.aliases))
