"""docs/connectors/datagen.md says what the code does, and its examples are taken."""

import json
import re
from pathlib import Path

import pytest

from connect.plugins.builtin import BUILT_IN
from connectors.datagen.keys import QUICKSTARTS
from connectors.datagen.schemas import read

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "connectors" / "datagen.md").read_text(encoding="utf-8")


def test_the_page_names_the_connector_as_it_is_found() -> None:
    (ref,) = [ref for ref in BUILT_IN if ref.target.endswith(":DatagenConnector")]
    assert all(f"`{name}`" in PAGE for name in (ref.name, *ref.aliases))


def test_the_schema_is_taken() -> None:
    (written,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert read(written, 0.5)[0].name == "payment"


@pytest.mark.parametrize("name", QUICKSTARTS)
def test_the_fields_of_a_quickstart_are_listed_the_key_first(name: str) -> None:
    schema = json.loads((ROOT / "connectors" / "datagen" / "quickstarts" / f"{name}.avsc").read_text("utf-8"))
    (listed,) = re.findall(rf"^\| `{name}` \| (.+) \|$", PAGE, re.MULTILINE)
    fields = [each["name"] for each in schema["fields"]]
    fields.sort(key=lambda field: field != QUICKSTARTS[name])
    assert re.sub(r" \(.*?\)", "", listed).split(", ") == fields
