"""Builds the documentation site in build/site from the pages of docs/, as they stand there.

The list of pages in docs/README.md is the site's navigation. Beside docs/ the site has the changelog, the page on the
files in config/, every operation of the REST API, and the files of the repository that its pages name. It loads nothing
from another host and can be read without a server: open build/site/index.html.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import rest_reference
import site_links

from rest.app import describe_interface

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build"
#: Pages that stand outside of docs/, and where the site has them.
MORE_PAGES = {Path("CHANGELOG.md"): Path("changelog.md"), Path("config/README.md"): Path("config.md")}
HOME = Path("docs/README.md")
#: A page that is made here stands in the navigation behind the one that it belongs to.
REST, REST_REFERENCE = "rest", "rest-reference"
#: Where the site has the other files that pages name.
FILES = Path("repository")

_FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(\]\()([^()\s#]+)((?:#[^()\s]*)?\))")
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)


class Wrong(Exception):
    """The pages cannot become a site. The message says which and why."""


def pages() -> dict[Path, Path]:
    """Each page of Markdown, by its path in the repository, and where the site has it."""
    found = {path.relative_to(ROOT): path.relative_to(ROOT / "docs") for path in sorted((ROOT / "docs").rglob("*.md"))}
    return found | MORE_PAGES | {HOME: Path("home.md")}


class Layout:
    """A folder with what Sphinx reads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._pages = pages()

    def write(self) -> None:
        """Lay everything out anew.

        Raises:
            Wrong: a page is in no list of docs/README.md, or names what is not there.
        """
        shutil.rmtree(self.folder, ignore_errors=True)
        for page, place in self._pages.items():
            self._put(place, self._rewritten(page))
        described = describe_interface()
        self._put(Path(f"{REST_REFERENCE}.md"), rest_reference.page(described))
        self._put(Path("openapi.json"), json.dumps(described, indent=1))
        self._put(Path("index.rst"), "\n".join(self._index()))

    def _rewritten(self, page: Path) -> str:
        """A page whose links lead to where the site has what they name. Its lines stay where they are."""
        text = (ROOT / page).read_text(encoding="utf-8")
        fenced = [match.span() for match in _FENCED.finditer(text)]

        def link(match: re.Match[str]) -> str:
            begin, target, end = match.groups()
            shown = any(start <= match.start() < stop for start, stop in fenced)
            if shown or re.match(r"[a-z][a-z0-9+.-]*:", target):
                return match[0]
            return f"{begin}{self._reached(page, target)}{end}"

        return _LINK.sub(link, text)

    def _reached(self, page: Path, target: str) -> str:
        """What a page of the site writes to reach something by the path that it has in the repository."""
        aim = Path(os.path.normpath(page.parent / target))
        if not (ROOT / aim).exists():
            raise Wrong(f"{page}: {target}: no such file")
        if (ROOT / aim).is_dir():
            place = self._listing(aim)
        elif aim == HOME:
            place = Path("index.rst")
        elif aim in self._pages:
            place = self._pages[aim]
        else:
            place = aim.relative_to("docs") if aim.is_relative_to("docs") else FILES / aim
            self._copy(aim, place)
        return os.path.relpath(place, self._pages[page].parent)

    def _listing(self, folder: Path) -> Path:
        """A page with the files of a folder."""
        found = (path for path in sorted((ROOT / folder).rglob("*")) if path.is_file())
        listed = [path for path in found if "__pycache__" not in path.parts]
        title = str(folder)
        lines = [":orphan:", "", title, "=" * len(title), ""]
        for path in listed:
            name = path.relative_to(ROOT / folder)
            self._copy(path.relative_to(ROOT), FILES / path.relative_to(ROOT))
            lines.append(f"- :download:`{name} <{folder.name}/{name}>`")
        place = FILES / f"{folder}.rst"
        self._put(place, "\n".join(lines) + "\n")
        return place

    def _index(self) -> Iterator[str]:
        """The first page: docs/README.md, with its lists as the navigation."""
        home = (ROOT / HOME).read_text(encoding="utf-8")
        yield from (".. include:: home.md", "   :parser: myst_parser.sphinx_", "")
        listed: set[str] = set()
        names = _SECTION.split(home)[1:]
        for title, section in zip(names[::2], names[1::2], strict=True):
            yield from (".. toctree::", "   :hidden:", f"   :caption: {title}", "")
            for match in _LINK.finditer(section):
                place = self._pages.get(Path(os.path.normpath(HOME.parent / match[2])))
                name = "" if place is None else str(place.with_suffix(""))
                if name and name not in listed:
                    listed.add(name)
                    yield f"   {name}"
                    if name == REST:
                        yield f"   {REST_REFERENCE}"
            yield ""
        below = {str(place.with_suffix("")) for place in self._pages.values() if place.parent == Path("decisions")}
        wanted = {str(place.with_suffix("")) for place in self._pages.values()} - below - {"home"}
        if missing := sorted(wanted - listed):
            raise Wrong(f"{HOME}: it does not list {', '.join(missing)}.")
        yield from (".. toctree::", "   :hidden:", "   :glob:", "", "   decisions/[0-9]*", "")

    def _put(self, place: Path, text: str) -> None:
        path = self.folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def _copy(self, file: Path, place: Path) -> None:
        path = self.folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / file, path)


def build(site: Path) -> int:
    """Build the site in a folder, and check it; 0 when all is well."""
    source, trees = BUILD / "site-source", BUILD / "site-trees"
    try:
        Layout(source).write()
    except Wrong as error:
        print(error)
        return 1
    shutil.rmtree(site, ignore_errors=True)
    command = [sys.executable, "-m", "sphinx", "--builder", "html", "--conf-dir", str(Path(__file__).parent)]
    command += ["--fail-on-warning", "--keep-going", "--fresh-env", "--quiet"]
    command += ["--doctree-dir", str(trees), str(source), str(site)]
    if (code := subprocess.run(command, check=False).returncode) != 0:
        return code
    found = list(site_links.problems(site))
    for problem in found:
        print(problem)
    print(f"{site}: {sum(1 for _ in site.rglob('*.html'))} pages, {len(found)} problems")
    return 1 if found else 0


def main() -> int:
    """Build it in build/site, or where the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", nargs="?", type=Path, default=BUILD / "site", help="the folder (default: build/site)")
    return build(parser.parse_args().site)


if __name__ == "__main__":
    sys.exit(main())
