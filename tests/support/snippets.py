"""The blocks of code on our pages, and the command lines in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = [ROOT / "README.md", ROOT / "config" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
#: An explanation behind a command: a comment, or words after a gap.
_EXPLAINED = re.compile(r"(\s+#\s.*|\s{3,}\S.*)$")
#: How a command begins; with a prompt, or without.
_COMMAND = re.compile(r"(\$ )?(connect|curl|docker|make|pip|python) ")
_HEREDOC = re.compile(r"<<'?(\w+)'?")


@dataclass(frozen=True)
class Snippet:
    """A block of code.

    Attributes:
        page: from the top of the repository.
        line: of its first line.
        language: as the page names it; "" without, "indented" for a block that is indented.
    """

    page: str
    line: int
    language: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.page}:{self.line}"

    def commands(self) -> Iterator[tuple[int, str]]:
        """What would be typed at a prompt: the line in the page, and the command in one line."""
        lines = iter(enumerate(self.text.splitlines(), self.line))
        for number, line in lines:
            if not _COMMAND.match(line.strip()):
                continue
            command = line.strip().removeprefix("$ ")
            while command.endswith("\\"):
                command = f"{command[:-1]}{next(lines)[1].strip()}"
            while command.count("'") % 2:
                command = f"{command} {next(lines)[1].strip()}"
            heredoc = _HEREDOC.search(command)
            while heredoc and next(lines)[1] != heredoc[1]:
                pass
            yield number, command


def snippets() -> Iterator[Snippet]:
    """All blocks of all pages."""
    for page in PAGES:
        for token in MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8")):
            if token.type in ("fence", "code_block") and token.map is not None:
                fenced = token.type == "fence"
                language = token.info.strip() if fenced else "indented"
                yield Snippet(str(page.relative_to(ROOT)), token.map[0] + 1 + fenced, language, token.content)


def spans() -> Iterator[tuple[str, str]]:
    """The page and the text of all code within sentences and tables."""
    for page in PAGES:
        for token in MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8")):
            for child in token.children or ():
                if child.type == "code_inline":
                    yield str(page.relative_to(ROOT)), " ".join(child.content.split())


def words(command: str) -> list[str]:
    """The words of a command, up to a pipe, an output file, or an explanation."""
    found: list[str] = []
    for word in shlex.split(_EXPLAINED.sub("", command)):
        if word in ("|", ">", "&", "&&", ";", "2>&1"):
            break
        if word != "...":
            found.append(word)
    return found
