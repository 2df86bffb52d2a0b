"""Find links in our Markdown files that lead to no file or to no heading. Nothing is fetched from the network."""

import argparse
import re
import sys
from pathlib import Path

from repository import files

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)|!\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The names that GitHub gives to the headings of a page."""
    found: set[str] = set()
    for heading in HEADING.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        number = sum(1 for known in found if re.fullmatch(re.escape(name) + r"(-\d+)?", known))
        found.add(f"{name}-{number}" if number else name)
    return found


def broken(page: Path, target: str) -> str | None:
    """Why a link leads nowhere, or None when it leads somewhere."""
    if re.match(r"[a-z][a-z0-9+.-]*:", target):
        return None
    path, _, anchor = target.partition("#")
    aim = (page.parent / path) if path else page
    if not aim.exists():
        return "no such file"
    if anchor and aim.suffix == ".md" and anchor not in anchors(aim):
        return f"{aim.name} has no heading #{anchor}"
    return None


def main() -> int:
    """Print each dead link as file:line and return 1 if there is one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--verbose", action="store_true", help="also name every page that was read")
    verbose = parser.parse_args().verbose
    pages = files("*.md")
    links = dead = 0
    for page in pages:
        text = FENCE.sub(lambda block: "\n" * block[0].count("\n"), page.read_text(encoding="utf-8"))
        for match in LINK.finditer(text):
            links += 1
            target = match[1] or match[2]
            if reason := broken(page, target):
                dead += 1
                print(f"{page}:{text.count(chr(10), 0, match.start()) + 1}: {target}: {reason}")
        if verbose:
            print(f"{page}: read")
    print(f"{len(pages)} pages, {links} links, {dead} dead")
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main())
