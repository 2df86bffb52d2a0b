"""Write the tables of settings in our pages from the declarations, between two comments:

    <!-- settings: connectors.s3.sink:S3SinkConnector group="Retries" -->
    <!-- /settings -->

The name is of a plug-in, of a class of `Options` or of a `Definition`. `group` keeps the settings of that group, `keys`
those of these names in this order, `without` those that another plug-in does not have. A page that shows a plug-in
shows all of its settings: one that is in no table is an error.
"""

import argparse
import re
import sys
from collections.abc import Iterable
from pkgutil import resolve_name
from typing import Any

from repository import files

from connect.settings import REQUIRED, Definition, Kind, Options, Setting
from connect.settings.definition import text

TABLE = re.compile(
    r"(^<!-- settings: (\S+)((?:\s+\w+=\"[^\"]*\")*)\s*-->\n)(.*?)(<!-- /settings -->)", re.DOTALL | re.MULTILINE
)
WORD = re.compile(r"(\w+)=\"([^\"]*)\"")


class Wrong(Exception):
    """What a page asks for cannot be written."""


def definition(name: str) -> Definition:
    """The settings behind a name, `module:attribute`."""
    try:
        found = resolve_name(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise Wrong(f"{name}: {error}") from error
    found = getattr(found, "settings", found)
    return found.definition() if isinstance(found, type) and issubclass(found, Options) else found


def chosen(name: str, words: dict[str, str]) -> list[Setting[Any]]:
    """The settings that a table is to show."""
    declared = definition(name)
    if "keys" in words:
        if unknown := [key for key in words["keys"].split() if key not in declared]:
            raise Wrong(f"{name} has no setting {unknown[0]}.")
        return [declared[key] for key in words["keys"].split()]
    beside = definition(words["without"]) if "without" in words else ()
    shown = [each for each in declared if not each.internal and each.name not in beside]
    if "group" in words:
        shown = [each for each in shown if each.group == words["group"]]
    if not shown:
        raise Wrong(f"{name} has no such settings.")
    return shown


def table(settings: Iterable[Setting[Any]]) -> str:
    """A table in Markdown."""
    rows = [
        f"| `{each.name}` | {each.kind.value.lower()} | {_escaped(_default(each))} | {_escaped(each.doc)} |"
        for each in settings
    ]
    return "\n".join(["| key | type | default | meaning |", "|---|---|---|---|", *rows, ""])


def _default(setting: Setting[Any]) -> str:
    if setting.default is REQUIRED:
        return "required"
    return "none" if setting.kind is Kind.PASSWORD else text(setting.default) or "none"


def _escaped(written: str) -> str:
    return re.sub(r"\||<(?=\w)", r"\\\g<0>", written)


def written(page: str) -> str:
    """The page with its tables as they should be.

    Raises:
        Wrong: a table cannot be written, or a setting is in none.
    """
    whole: dict[str, str] = {}
    listed: set[str] = set()

    def made(match: re.Match[str]) -> str:
        name, words = match[2], dict(WORD.findall(match[3]))
        shown = chosen(name, words)
        listed.update(each.name for each in shown)
        whole.update((each.name, name) for each in definition(name) if not each.internal)
        return f"{match[1]}{table(shown)}{match[5]}"

    result = TABLE.sub(made, page)
    if missing := sorted(f"{key} of {name}" for key, name in whole.items() if key not in listed):
        raise Wrong(f"in no table: {', '.join(missing)}.")
    return result


def main() -> int:
    """Write the pages, or with --check only say which of them differ; then 1 is returned."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a page differs")
    check = parser.parse_args().check
    wrong = 0
    for page in files("*.md"):
        old = page.read_text(encoding="utf-8")
        try:
            new = written(old)
        except Wrong as error:
            print(f"{page}: {error}")
            wrong += 1
            continue
        if new != old and check:
            print(f"{page}: its tables of settings are not as declared: make docs")
            wrong += 1
        elif new != old:
            page.write_text(new, encoding="utf-8")
            print(f"{page}: written")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
