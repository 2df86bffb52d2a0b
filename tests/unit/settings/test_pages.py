"""The tables of settings on our pages are made from the declarations."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

from connect import settings

ROOT = Path(__file__).parents[3]


class RowOptions(settings.Options):
    table = settings.String("table", doc="One|two, <name>.", group="Where")
    size = settings.Int("size", default=5, doc="Rows.", group="How")
    login = settings.Password("login", default="", doc="Who.", group="Where")
    task = settings.Int("task", default=0, internal=True)


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    return importlib.import_module("pages")


def asked(words: str = "") -> str:
    return f"Before.\n<!-- settings: {__name__}:RowOptions{words} -->\nold\n<!-- /settings -->\nAfter.\n"


def test_a_table_is_filled(pages: ModuleType) -> None:
    rows = [line for line in pages.written(asked()).splitlines() if line.startswith("| `")]
    assert rows == [
        "| `table` | string | required | One\\|two, \\<name>. |",
        "| `size` | int | 5 | Rows. |",
        "| `login` | password | none | Who. |",
    ]
    assert pages.written(pages.written(asked())) == pages.written(asked())
    assert pages.written("Before.\n") == "Before.\n"


def test_settings_are_chosen(pages: ModuleType) -> None:
    page = asked(' group="Where"') + asked(' keys="size"')
    assert [line.split("`")[1] for line in pages.written(page).splitlines() if line.startswith("| `")] == [
        "table",
        "login",
        "size",
    ]


@pytest.mark.parametrize(
    ("page", "why"),
    [
        (asked(' group="Where"'), r"in no table: size of .*RowOptions"),
        (asked(' group="Nowhere"'), "has no such settings"),
        (asked(' keys="size colour"'), "has no setting colour"),
        (asked().replace("RowOptions", "Other"), "Other"),
    ],
)
def test_what_cannot_be_shown_is_named(pages: ModuleType, page: str, why: str) -> None:
    with pytest.raises(pages.Wrong, match=why):
        pages.written(page)


def test_our_pages_are_as_declared(pages: ModuleType) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert pages.written(text) == text, f"{page}: run .ci/pages.py"
