"""`connect docs`: the documentation of this version."""

from __future__ import annotations

import argparse
import pydoc
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import connect
from connect.cli._connectors import print_json
from connect.cli._exit import OK
from connect.cli._table import table
from connect.errors import ConnectError

HELP = """\
Read the documentation that came with this version: a page by its name, by a connector's class, or by words in it.

examples:
  connect docs                                     every page
  connect docs s3-sink                             a page
  connect docs FileStreamSink                      the page of a connector
  connect docs flush.size                          the lines of all pages that have this in them
  connect docs dead letters                        likewise
  less $(connect docs jdbc-sink --path)            where a page is"""

#: Of one page so many lines are shown where words were looked for.
_LINES = 5


@dataclass(frozen=True, slots=True)
class Page:
    """One page, in Markdown.

    Attributes:
        name: for the command; the file's without its folder and ending.
        title: its first heading.
        text: all of it.
        path: of the file.
    """

    name: str
    title: str
    text: str
    path: Path


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("words", nargs="*", metavar="TOPIC", help="a page, a class, a key, or other words")
    parser.add_argument("--path", action="store_true", help="print where the page is")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(args: argparse.Namespace) -> int:
    """Print the list, a page, or lines of pages."""
    known, topic = pages(), " ".join(args.words)
    page = found(known, topic) if topic else None
    if page is None and topic and args.path:
        raise ConnectError(f'There is no page "{topic}". connect docs lists them.')
    if page is not None and args.path:
        print(page.path)
    elif page is not None and not args.json:
        # A pager where there is a terminal, the text alone where there is none.
        pydoc.pager(page.text) if sys.stdout.isatty() else print(page.text, end="")
    elif page is None and topic:
        _print_lines(known, topic, as_json=args.json)
    elif args.json:
        print_json([_entry(one) for one in ([page] if page else known)])
    else:
        print(table(["PAGE", "TITLE"], [(one.name, one.title) for one in known]))
    return OK


def pages() -> list[Page]:
    """All pages by name: those of the installed package, or of the checkout that runs.

    Raises:
        ConnectError: they are missing.
    """
    package = Path(connect.__file__).parent
    for folder in (package / "_docs", package.parent / "docs"):
        if (folder / "README.md").is_file():
            read = (
                _read(path)
                for path in folder.rglob("*.md")
                if path.name != "README.md" and "decisions" not in path.parts
            )
            return sorted(read, key=lambda page: page.name)
    raise ConnectError(f"This installation has no documentation (neither {package}/_docs nor a checkout's docs/).")


def found(known: list[Page], topic: str) -> Page | None:
    """The page of this name; else that of a connector, found by its class in a title or a configuration."""
    wanted = topic.lower().removesuffix(".md").rpartition("/")[2]
    for page in known:
        if page.name.lower() == wanted:
            return page
    class_name = topic.rpartition(".")[2].removesuffix("Connector")
    if not class_name[:1].isupper():
        return None
    word = re.compile(rf"\b{re.escape(class_name)}(Connector)?\b")
    configured = re.compile(rf'connector\.class"?\s*[=:]\s*"?\S*\b{re.escape(class_name)}(Connector)?\b')
    of_connectors = [page for page in known if page.path.parent.name == "connectors"]
    titled = [page for page in of_connectors if word.search(page.title)]
    named = [page for page in of_connectors if configured.search(page.text)]
    return next(iter(titled + named), None)


def _read(path: Path) -> Page:
    text = path.read_text(encoding="utf-8")
    title = next((line.lstrip("# ") for line in text.splitlines() if line.startswith("# ")), path.stem)
    return Page(path.stem, title, text, path)


def _entry(page: Page) -> dict[str, str]:
    return {"page": page.name, "title": page.title, "path": str(page.path)}


def _matches(page: Page, words: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(page.text.splitlines(), 1):
        if words.lower() in line.lower():
            yield number, line.strip()


def _print_lines(known: list[Page], words: str, *, as_json: bool) -> None:
    matches = {page: list(_matches(page, words)) for page in known}
    some = sorted((page for page in known if matches[page]), key=lambda page: -len(matches[page]))
    if not some:
        raise ConnectError(f'No page is called "{words}", and none has it in its text. connect docs lists them.')
    if as_json:
        print_json([{**_entry(page), "lines": dict(matches[page])} for page in some])
        return
    for page in some:
        print(f"{page.name}: {page.title}")
        for number, line in matches[page][:_LINES]:
            print(f"  {number}: {line}")
        if (more := len(matches[page]) - _LINES) > 0:
            print(f"  ... and {more} more")
