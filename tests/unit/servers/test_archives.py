"""Archives that servers for the tests come in are unpacked into their folder and nowhere else, on every Python."""

import io
import os
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.servers.archives import unpack_each, unpack_tar

Unpack = Callable[[tarfile.TarFile, Path], None]

# Python's own filter takes the slash from an absolute name; ours refuses it. Both leave what is outside alone.
BOTH = pytest.mark.parametrize("unpack", [unpack_tar, unpack_each])


@contextmanager
def archive(*members: tuple[str, bytes, str], mode: int = 0o644) -> Iterator[tarfile.TarFile]:
    """One with (name, type, content or target of the link)."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as made:
        for name, kind, content in members:
            member = tarfile.TarInfo(name)
            member.type, member.mode, member.uid, member.uname = kind, mode, 12345, "somebody"
            if kind == tarfile.REGTYPE:
                member.size = len(content)
            else:
                member.linkname = content
            made.addfile(member, io.BytesIO(content.encode()))
    with tarfile.open(fileobj=io.BytesIO(packed.getvalue())) as found:
        found.extraction_filter = lambda member, _: member  # Python 3.12 and 3.13 warn where none is chosen
        yield found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("theirs")
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder"


@BOTH
def test_files_folders_and_links_are_unpacked_as_ours(unpack: Unpack, folder: Path) -> None:
    members = [
        ("lib", tarfile.DIRTYPE, ""),
        ("lib/library.so.1", tarfile.REGTYPE, "code"),
        ("lib/library.so", tarfile.SYMTYPE, "library.so.1"),
        ("share/deep/copy", tarfile.LNKTYPE, "lib/library.so.1"),
        ("share/deep/link", tarfile.SYMTYPE, "../../lib"),
    ]
    with archive(*members, mode=0o6777) as content:
        unpack(content, folder)

    assert (folder / "share/deep/link/library.so").read_text() == (folder / "share/deep/copy").read_text() == "code"
    assert (folder / "lib/library.so").is_symlink()
    found = (folder / "lib/library.so.1").stat()
    assert (found.st_uid, found.st_mode & 0o7777) == (os.geteuid(), 0o755)


@BOTH
@pytest.mark.parametrize(
    "members",
    [
        [("../outside/file", tarfile.REGTYPE, "ours")],
        [("a/../../outside/file", tarfile.REGTYPE, "ours")],
        [("{outside}/file", tarfile.REGTYPE, "ours")],
        [("link", tarfile.SYMTYPE, "../outside"), ("link/file", tarfile.REGTYPE, "ours")],
        [("link", tarfile.SYMTYPE, "{outside}"), ("link/file", tarfile.REGTYPE, "ours")],
        [("link", tarfile.LNKTYPE, "../outside/file"), ("link", tarfile.REGTYPE, "ours")],
        [("link", tarfile.LNKTYPE, "{outside}/file"), ("link", tarfile.REGTYPE, "ours")],
        # Each of these looks harmless by its name alone.
        [
            ("a", tarfile.DIRTYPE, ""),
            ("a/up", tarfile.SYMTYPE, ".."),
            ("link", tarfile.SYMTYPE, "a/up/../outside"),
            ("link/file", tarfile.REGTYPE, "ours"),
        ],
    ],
)
def test_nothing_outside_of_the_folder_is_written(
    unpack: Unpack, members: list[tuple[str, bytes, str]], folder: Path
) -> None:
    outside = folder.parent / "outside"
    hostile = [(name.format(outside=outside), kind, content.format(outside=outside)) for name, kind, content in members]
    with archive(*hostile) as content:
        try:
            unpack(content, folder)
        except (tarfile.TarError, OSError):
            refused = True
        else:
            refused = False

    assert refused or (unpack is unpack_tar and hostile[0][0].startswith("/"))
    assert [path.read_text() for path in outside.iterdir()] == ["theirs"]


@BOTH
@pytest.mark.parametrize("target", ["../outside/file", "{outside}/file", "a/../../outside/file"])
@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_a_link_out_of_the_folder_is_refused(unpack: Unpack, kind: bytes, target: str, folder: Path) -> None:
    with (
        archive(("link", kind, target.format(outside=folder.parent / "outside"))) as content,
        pytest.raises(tarfile.TarError),
    ):
        unpack(content, folder)
    assert not any(folder.iterdir())


@BOTH
def test_a_device_is_refused(unpack: Unpack, folder: Path) -> None:
    with archive(("null", tarfile.CHRTYPE, "")) as content, pytest.raises(tarfile.TarError):
        unpack(content, folder)
    assert not any(folder.iterdir())
