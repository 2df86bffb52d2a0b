"""Checks a built site: every link within it leads somewhere, and a page loads nothing from another host."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: What a browser loads by itself: tag and attribute. A link that a reader may follow is none of these.
_LOADED = {
    *(("script", "src"), ("img", "src"), ("img", "srcset"), ("iframe", "src"), ("source", "src"), ("video", "src")),
    *(("audio", "src"), ("embed", "src"), ("object", "data"), ("link", "href"), ("form", "action")),
}
_LINKS = _LOADED | {("a", "href")}
_IN_STYLES = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")


class Page(HTMLParser):
    """What a page of HTML names.

    Attributes:
        anchors: where a link into the page may lead.
        links: tag, attribute, value and line of each link, and of what is loaded.
    """

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.anchors = {"", "top"}
        self.links: list[tuple[str, str, str, int]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            if (tag, name) in _LINKS and value:
                self.links.append((tag, name, value, self.getpos()[0]))


def problems(site: Path) -> Iterator[str]:
    """Every dead link, and everything that is loaded from another host, as file:line."""
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        for tag, attribute, value, line in page.links:
            if reason := _wrong(value, path, pages, loaded=(tag, attribute) in _LOADED):
                yield f"{path.relative_to(site.resolve())}:{line}: {value}: {reason}"
    for path in sorted(site.rglob("*.css")):
        for match in _IN_STYLES.finditer(path.read_text(encoding="utf-8")):
            if _of_another_host(value := match[1] or match[2]):
                yield f"{path.relative_to(site)}: {value}: it is loaded from another host"


def _of_another_host(value: str) -> bool:
    return bool(urlsplit(value).netloc)


def _wrong(value: str, path: Path, pages: dict[Path, Page], *, loaded: bool) -> str | None:
    """Why a link is not as it should be, or None."""
    url = urlsplit(value)
    if url.scheme or url.netloc:
        return "it is loaded from another host" if loaded and _of_another_host(value) else None
    target = (path.parent / unquote(url.path)).resolve() if url.path else path
    if not target.is_file():
        return "no such file"
    if url.fragment and target in pages and unquote(url.fragment) not in pages[target].anchors:
        return f"{target.name} has no #{url.fragment}"
    return None
