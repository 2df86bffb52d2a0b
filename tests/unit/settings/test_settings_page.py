"""docs/settings.md: its examples do what the page says."""

import re
from pathlib import Path
from typing import Any

PAGE = (Path(__file__).parents[3] / "docs" / "settings.md").read_text(encoding="utf-8")


def test_the_examples_do_what_the_page_says():
    made: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(code, made)
    written = {
        "connection.username": "me",
        "insert.mode": "insert",
        "field.list": "a;b",
        "connection.pool.size": "3",
        "use.time.zone": "UTC",
    }
    assert dict(made["SETTINGS"].parse(written)) == {"connection.user": "me", "mode": "append", "columns": ["a", "b"]}
    assert made["SETTINGS"].remarks(written) == [
        ("connection.pool.size", "has no effect: a task has one connection."),
    ]
