"""Builds what is uploaded for a release, checks it, and prints the commands that publish it: `make release`.

    dist/connect_runtime-VERSION.tar.gz, .whl     built twice from the commit, byte for byte the same
    dist/SHA256SUMS                               as `sha256sum --check` reads it

Nothing is published and no tag is made. The build is of the commit alone: files that git does not know are not in it.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

ROOT: Final = Path.cwd()
DIST: Final = ROOT / "dist"
#: In an environment of their own, so that they meet none of the project's dependencies.
TOOLS: Final = ("build>=1.5,<2", "twine>=7,<8")
PACKAGES: Final = ("connect", "connectors", "transforms", "rest", "spark_sink")
#: Lies elsewhere in the wheel than in the repository: Spark looks for it among the modules at the top.
MOVED: Final = {"spark_sink/autoload/pyspark_connect_runtime.py": "pyspark_connect_runtime.py"}


class Refused(Exception):
    """There is nothing to release. The message says why, and what to do."""


def main() -> int:
    """Build, check, print. Returns the exit code."""
    try:
        commit = clean_commit()
        with tempfile.TemporaryDirectory() as folder:
            release(Path(folder), commit)
    except Refused as refused:
        print(f"No release: {refused}", file=sys.stderr)
        return 1
    return 0


def release(folder: Path, commit: str) -> None:
    """All steps, with their work in a folder."""
    source = exported(commit, folder / "source")
    version = declared_version((source / "connect" / "__init__.py").read_text(encoding="utf-8"))
    notes = notes_of(version, (source / "CHANGELOG.md").read_text(encoding="utf-8"))
    say(f"connect-runtime {version} from commit {commit[:12]}")
    tools = environment(folder / "tools", *TOOLS)
    once, twice = (built(tools, source, folder / name, commit) for name in ("once", "twice"))
    for name in sorted(once):
        if once[name].read_bytes() != twice[name].read_bytes():
            raise Refused(
                f"{name} differs between two builds of the same commit. Find out what depends on time or order."
            )
    say(f"built twice, the same bytes: {', '.join(sorted(once))}")
    (wheel,) = (path for name, path in once.items() if name.endswith(".whl"))
    check_wheel(wheel, source)
    run([tools / "python", "-m", "twine", "check", "--strict", *once.values()])
    check_installed(wheel, folder / "user", version)
    keep(once)
    print(instructions(version, notes))


def clean_commit() -> str:
    """The commit that is checked out.

    Raises:
        Refused: files of it are changed.
    """
    if changed := git("status", "--porcelain", "--untracked-files=no"):
        raise Refused(f"these files are changed. Commit them first.\n{changed}")
    return git("rev-parse", "HEAD")


def exported(commit: str, folder: Path) -> Path:
    """The files of a commit, in a folder."""
    folder.mkdir()
    archive = folder.with_suffix(".tar")
    run(["git", "archive", "--output", archive, commit])
    shutil.unpack_archive(archive, folder)
    return folder


def declared_version(text: str) -> str:
    """The version that the package says it has.

    Raises:
        Refused: it is not a version that can be released.
    """
    found = re.search(r'^__version__ = "([^"]*)"', text, re.MULTILINE)
    if found is None or not re.fullmatch(r"\d+\.\d+\.\d+", found[1]):
        raise Refused('connect/__init__.py needs a line like __version__ = "1.2.3".')
    return found[1]


def notes_of(version: str, changelog: str) -> str:
    """What the changelog says of a version.

    Raises:
        Refused: nothing, or it has no date.
    """
    section = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## \[|\Z)"
    found = re.search(section, changelog, re.MULTILINE | re.DOTALL)
    if found is None or not found[1].strip():
        raise Refused(
            f"CHANGELOG.md has no section for it. Move what is under [Unreleased] below a line ## [{version}] - "
            "YYYY-MM-DD, or set __version__ in connect/__init__.py."
        )
    return found[1].strip()


def environment(folder: Path, *packages: str | Path) -> Path:
    """The `bin` of a new environment with these packages and what they need."""
    venv.create(folder, with_pip=True)
    run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages])
    return folder / "bin"


def built(tools: Path, source: Path, target: Path, commit: str) -> dict[str, Path]:
    """A source distribution, and a wheel made from it, by their names. They carry the time of the commit."""
    time = git("show", "--no-patch", "--format=%ct", commit)
    run([tools / "python", "-m", "build", "--outdir", target, source], {**os.environ, "SOURCE_DATE_EPOCH": time})
    return {path.name: path for path in target.iterdir()}


def check_wheel(wheel: Path, source: Path) -> None:
    """Whether a wheel has all files of the packages, and nothing that is only for developers.

    Raises:
        Refused: it has not, or has more.
    """
    with zipfile.ZipFile(wheel) as files:
        names = set(files.namelist())
    packaged = (path for name in PACKAGES for path in (source / name).rglob("*") if path.is_file())
    wanted = {MOVED.get(name, name) for name in (path.relative_to(source).as_posix() for path in packaged)}
    if missing := sorted(wanted - names):
        raise Refused(f"{wheel.name} lacks {len(missing)} files of the packages, among them {missing[0]}.")
    if strange := sorted(strangers(names)):
        raise Refused(f"{wheel.name} has files that belong to no package, among them {strange[0]}.")
    say(f"{wheel.name}: {len(names)} files, {wheel.stat().st_size / 1e6:.1f} MB")


def strangers(names: set[str]) -> Iterator[str]:
    """The files of a wheel that neither its packages nor its description account for."""
    for name in names:
        top = PurePosixPath(name).parts[0]
        if top not in PACKAGES and not top.endswith(".dist-info") and name not in MOVED.values():
            yield name


def check_installed(wheel: Path, folder: Path, version: str) -> None:
    """Whether a user who has nothing but the wheel gets a command that runs, and says this version.

    Raises:
        Refused: it does not.
    """
    user = environment(folder, wheel)
    run([user / "python", "-m", "pip", "check"])
    said = run([user / "connect", "--version"]).split()
    if version not in said:
        raise Refused(f"the installed command says it is {' '.join(said)}.")


def keep(files: dict[str, Path]) -> None:
    """Copy what was built to `dist`, in place of earlier builds, with its checksums."""
    DIST.mkdir(exist_ok=True)
    for old in [*DIST.glob("*.whl"), *DIST.glob("*.tar.gz")]:
        old.unlink()
    sums = []
    for name, path in sorted(files.items()):
        content = path.read_bytes()
        (DIST / name).write_bytes(content)
        sums.append(f"{hashlib.sha256(content).hexdigest()}  {name}\n")
    (DIST / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")


def instructions(version: str, notes: str) -> str:
    """What is left to do by hand."""
    sums = (DIST / "SHA256SUMS").read_text(encoding="utf-8")
    return f"""
What the changelog says of {version}:

{notes}

SHA-256:
{sums}
To publish it:

  git tag --annotate v{version} --message "connect-runtime {version}"
  git push origin v{version}
  twine upload dist/connect_runtime-{version}*
"""


def git(*words: str) -> str:
    """What git says."""
    return run(["git", *words]).strip()


def run(words: list[str | Path], environment: dict[str, str] | None = None) -> str:
    """What a command prints.

    Raises:
        Refused: it failed.
    """
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Refused(f"{' '.join(map(str, words[:4]))} ... failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def say(text: str) -> None:
    """One line, at once."""
    print(f"==> {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
