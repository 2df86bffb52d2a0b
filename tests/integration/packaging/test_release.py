"""`make release` builds what is published from a commit, and refuses what should not be."""

import hashlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from connect import __version__
from tests.integration.packaging.copies import copy_of_checkout

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

#: A step of the build whose result is never the same.
BY_CHANCE = """
import os
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Hook(BuildHookInterface):
    def initialize(self, version, build_data):
        Path(self.root, "connect", "chance.txt").write_bytes(os.urandom(8))
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository of its own, with one commit of all files here."""
    folder = copy_of_checkout(tmp_path / "checkout")
    _git(folder, "init", "--quiet")
    _commit(folder)
    return folder


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def _commit(folder: Path) -> None:
    _git(folder, "add", "--all")
    _git(folder, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "--quiet", "--message", "All")


def _release(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ".ci/release.py"], cwd=folder, capture_output=True, text=True, check=False, timeout=800
    )


def test_what_is_published_is_built_checked_and_listed(
    checkout: Path, cannot_have: Callable[[str, object], NoReturn]
) -> None:
    (checkout / "connect" / "not_in_git.py").write_text("")
    done = _release(checkout)
    if "No matching distribution found for build" in done.stderr:
        cannot_have("the package build", "no package index can be reached")
    assert done.returncode == 0, done.stderr
    names = [f"connect_runtime-{__version__}-py3-none-any.whl", f"connect_runtime-{__version__}.tar.gz"]
    dist = checkout / "dist"
    assert sorted(path.name for path in dist.iterdir()) == ["SHA256SUMS", *names]
    sums = [f"{hashlib.sha256((dist / name).read_bytes()).hexdigest()}  {name}" for name in names]
    assert (dist / "SHA256SUMS").read_text().splitlines() == sums
    assert f"git tag --annotate v{__version__}" in done.stdout
    assert f"twine upload dist/connect_runtime-{__version__}*" in done.stdout
    assert "### Added" in done.stdout  # the notes of this version
    assert b"not_in_git.py" not in (dist / names[0]).read_bytes()


def test_changed_files_are_refused(checkout: Path) -> None:
    with (checkout / "README.md").open("a") as readme:
        readme.write("One more line.\n")
    done = _release(checkout)
    assert done.returncode == 1
    assert "No release: these files are changed. Commit them first.\nM README.md" in done.stderr
    assert not (checkout / "dist").exists()


def test_a_version_that_the_changelog_does_not_know_is_refused(checkout: Path) -> None:
    module = checkout / "connect" / "__init__.py"
    module.write_text(module.read_text().replace(f'"{__version__}"', '"9.8.7"'))
    _commit(checkout)
    done = _release(checkout)
    assert done.returncode == 1
    assert "No release: CHANGELOG.md has no section for it." in done.stderr
    assert "## [9.8.7] - YYYY-MM-DD" in done.stderr


def test_a_build_that_is_another_each_time_is_refused(
    checkout: Path, cannot_have: Callable[[str, object], NoReturn]
) -> None:
    with (checkout / "pyproject.toml").open("a") as project:
        project.write("\n[tool.hatch.build.hooks.custom]\n")
    (checkout / "hatch_build.py").write_text(BY_CHANCE)
    _commit(checkout)
    done = _release(checkout)
    if "No matching distribution found for build" in done.stderr:
        cannot_have("the package build", "no package index can be reached")
    assert done.returncode == 1
    assert "differs between two builds of the same commit" in done.stderr
    assert not (checkout / "dist").exists()


def test_a_wheel_that_lacks_a_file_is_refused(checkout: Path, cannot_have: Callable[[str, object], NoReturn]) -> None:
    project = checkout / "pyproject.toml"
    text = project.read_text()
    assert '"rest", "spark_sink"]\n\n#' in text
    project.write_text(text.replace('"rest", "spark_sink"]\n\n#', '"rest"]\n\n#', 1))
    _commit(checkout)
    done = _release(checkout)
    if "No matching distribution found for build" in done.stderr:
        cannot_have("the package build", "no package index can be reached")
    assert done.returncode == 1
    assert "files of the packages, among them spark_sink/" in done.stderr
