"""docs/kit.md is right: it names what the kit has."""

from __future__ import annotations

import re
from pathlib import Path

import connect.kit

PAGE = (Path(__file__).parents[3] / "docs" / "kit.md").read_text("utf-8")


def test_the_page_names_what_there_is() -> None:
    first_cells = re.findall(r"^\| (`[^|]+`) \|", PAGE, re.MULTILINE)
    named = {name for cell in first_cells for name in re.findall(r"`(\w+)`", cell)} | {"OnePage"}
    assert named == set(connect.kit.__all__) - {"Chore", "CredentialsProvider", "Login"}
