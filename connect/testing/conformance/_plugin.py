"""Checks of every plug-in: its settings are documented, well named, and their defaults are valid."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar

import pytest

from connect.api.plugin import Plugin
from connect.settings import Kind, Setting

_KAFKAS_SPELLING = re.compile(r"[a-z][a-z0-9]*([._-][a-z0-9]+)*")
_TYPES: dict[Kind, tuple[type, ...]] = {
    Kind.BOOLEAN: (bool,),
    Kind.STRING: (str,),
    Kind.CLASS: (str,),
    Kind.INT: (int,),
    Kind.SHORT: (int,),
    Kind.LONG: (int,),
    Kind.DOUBLE: (float, int),
    Kind.LIST: (list, tuple),
}


class PluginConformance:
    """Base of the others.

    Attributes:
        names_as_elsewhere: settings with another project's spelling: a Java connector's `autoCreateTables`.
        tmp_path: an empty folder for each test.
    """

    names_as_elsewhere: ClassVar[frozenset[str]] = frozenset()
    tmp_path: Path

    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.tmp_path = tmp_path

    def plugin(self) -> type[Plugin]:
        """The class under test."""
        raise NotImplementedError

    def test_every_setting_is_documented(self) -> None:
        missing = [setting.name for setting in self._shown() if not setting.doc.strip()]
        assert not missing, f"these settings have no doc: {missing}"

    def test_settings_are_named_in_kafkas_spelling(self) -> None:
        names = {setting.name for setting in self._shown()} - self.names_as_elsewhere
        wrong = sorted(name for name in names if not _KAFKAS_SPELLING.fullmatch(name))
        assert not wrong, f"write them in lower case with dots, as in batch.size: {wrong}"

    def test_defaults_pass_their_own_validators(self) -> None:
        for setting in self.plugin().settings:
            default = setting.default
            if setting.required or default is None:
                continue
            setting.check(default)
            types = _TYPES.get(setting.kind)
            typed = types is None or (isinstance(default, types) and isinstance(default, bool) == (types == (bool,)))
            assert typed, f"the default of {setting.name} is not of the type {setting.kind.value}: {default!r}"
            if setting.kind is not Kind.PASSWORD:
                assert setting.parse(_written(default)) == default, f"{setting.name}: its default, written, differs"

    def test_dependents_are_settings(self) -> None:
        settings = self.plugin().settings
        unknown = {s.name: [name for name in s.dependents if name not in settings] for s in settings}
        assert not any(unknown.values()), f"dependents that are not settings: {unknown}"

    def _shown(self) -> list[Setting[Any]]:
        return [setting for setting in self.plugin().settings if not setting.internal]


def _written(default: Any) -> str:
    """A value as a user writes it."""
    if isinstance(default, bool):
        return str(default).lower()
    return ",".join(map(str, default)) if isinstance(default, list | tuple) else str(default)
