"""Unpacks archives of others on every Python: the filters of `tarfile` are there since 3.11.4."""

import os
import tarfile
from pathlib import Path


def unpack_tar(archive: tarfile.TarFile, folder: Path) -> None:
    """Unpack files, folders and links, as us, and nothing outside of the folder.

    Raises:
        tarfile.TarError: a name or a link leads outside, or something is none of these.
    """
    if hasattr(tarfile, "data_filter"):
        archive.extractall(folder, filter="data")  # since 3.11.4
    else:
        unpack_each(archive, folder)


def unpack_each(archive: tarfile.TarFile, folder: Path) -> None:
    """The same without such a filter. Each member is judged among the links that were unpacked before it."""
    for member in archive:
        _judge(member, folder.resolve())
        member.uid, member.gid, member.uname, member.gname = os.geteuid(), os.getegid(), "", ""
        member.mode = 0o755 if member.isdir() else member.mode & 0o755 | 0o600
        archive.extract(member, folder)


def _judge(member: tarfile.TarInfo, folder: Path) -> None:
    if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
        raise tarfile.ExtractError(f"{member.name}: it is not a file, no folder and no link")
    reached = [Path(member.name)]
    if member.issym():
        reached.append(Path(member.name).parent / member.linkname)
    elif member.islnk():
        reached.append(Path(member.linkname))
    for path in reached:
        if path.is_absolute() or not (folder / path).resolve().is_relative_to(folder):
            raise tarfile.ExtractError(f"{member.name}: it leads out of the folder, to {path}")
