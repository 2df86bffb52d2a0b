"""`make docs` builds a site of our pages that is whole, works without a network, and finds what is looked for."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import NoReturn

import pytest

from tests.servers.chromium import ChromiumUnavailable, chromium

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[3]
SCRIPTS = ROOT / ".ci" / "documentation"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it. Warnings of Sphinx, dead links and foreign hosts would fail that."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, SCRIPTS / "build.py", folder], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture
def site_links(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("site_links")


def test_every_page_is_there(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    built = {path.relative_to(site) for path in site.rglob("*.html")}
    assert {*pages, Path("rest-reference.html"), Path("changelog.html"), Path("index.html")} - built == {
        Path("README.html")  # it is the first page
    }


def test_the_reference_has_every_operation_of_the_interface(site: Path) -> None:
    (file,) = site.rglob("openapi.json")
    described = json.loads(file.read_text(encoding="utf-8"))
    page = (site / "rest-reference.html").read_text(encoding="utf-8")
    operations = [(method, path) for path, methods in described["paths"].items() for method in methods]
    assert len(operations) > 40
    assert [one for one in operations if f"<h3>{one[0].upper()} {one[1]}<" not in page] == []
    assert [name for name in described["components"]["schemas"] if f"<h3>Type {name}<" not in page] == []


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where a server of this machine has the site."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    Thread(target=server.serve_forever).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and says nothing of it."""

    def log_message(self, *_: object) -> None: ...


@pytest.mark.parametrize("by", ["server", "file"])
def test_a_browser_loads_nothing_from_elsewhere_and_finds_words(
    by: str, site: Path, address: str, cannot_have: Callable[[str, object], NoReturn]
) -> None:
    base = address if by == "server" else f"{site.as_uri()}/"
    asked: list[str] = []
    errors: list[str] = []
    try:
        with chromium() as browser:
            page = browser.new_page()
            page.on("request", lambda request: asked.append(request.url))
            page.on("pageerror", lambda error: errors.append(str(error)))
            for name in ("index", "quickstart", "connectors/s3-sink", "rest-reference"):
                page.goto(f"{base}{name}.html")
            page.fill("input[name=q]", "ConnectRebalanceStorm")
            page.press("input[name=q]", "Enter")
            page.locator("#search-results").get_by_role("link", name="Operation", exact=True).wait_for()
    except ChromiumUnavailable as error:
        cannot_have("Chromium", error)
    assert len(asked) > 20
    assert [url for url in asked if not url.startswith((base, "data:"))] == []
    # Without a server the search finds pages, but cannot fetch what it shows of them.
    assert [error for error in errors if by == "server" or "Failed to fetch" not in error] == []


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        ('<a href="other.html">x</a>', "other.html: no such file"),
        ('<h2 id="here">x</h2><a href="#there">x</a>', "#there: page.html has no #there"),
        ('<script src="https://cdn.example.org/a.js"></script>', "a.js: it is loaded from another host"),
        ('<link rel="stylesheet" href="//fonts.example.org/css">', "css: it is loaded from another host"),
    ],
)
def test_what_is_wrong_with_a_site_is_named(site_links: ModuleType, tmp_path: Path, page: str, reason: str) -> None:
    (tmp_path / "page.html").write_text(f"<!doctype html>\n{page}")
    (problem,) = site_links.problems(tmp_path)
    assert problem.startswith("page.html:2: ")
    assert problem.endswith(reason)


def test_a_link_of_a_reader_may_lead_anywhere(site_links: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text('<a href="https://example.org/">x</a><p id="a"><a href="page.html#a">y</a>')
    assert list(site_links.problems(tmp_path)) == []
    (tmp_path / "site.css").write_text("@font-face { src: url(https://fonts.example.org/a.woff2) }")
    (problem,) = site_links.problems(tmp_path)
    assert problem.endswith("it is loaded from another host")
