"""docs/transformations.md says of each setting what the code does."""

import re
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

from connect.plugins.builtin import BUILT_IN
from connect.plugins.ref import PluginKind
from connect.settings.definition import text
from connect.settings.setting import REQUIRED

PAGE = Path(__file__).parents[3] / "docs" / "transformations.md"
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))
ROW = re.compile(r"^\| `([^`]+)` \| (\w+) \| ([^|]+) \|", re.MULTILINE)


def _simple(name: str) -> str:
    return name.rpartition(".")[2].partition("$")[0]


KNOWN = {_simple(ref.name): ref.target for ref in BUILT_IN if ref.kind is PluginKind.TRANSFORMATION}


def _default(value: Any) -> str:
    if value is REQUIRED:
        return "required"
    return text(value) or "none"


WITH_TYPES = {name for name, section in SECTIONS.items() if "| key | type | default |" in section}


@pytest.mark.parametrize("name", sorted(WITH_TYPES & KNOWN.keys()))
def test_a_section_lists_the_settings_as_they_are(name: str) -> None:
    listed = [(key, kind, default.strip().strip("`")) for key, kind, default in ROW.findall(SECTIONS[name])]
    declared = [(s.name, s.kind.value.lower(), _default(s.default)) for s in resolve_name(KNOWN[name]).settings]
    assert listed == declared
