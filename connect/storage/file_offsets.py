"""Offsets of a worker in standalone mode, in one file (`offset.storage.file.filename`).

JSON, one entry a line, so that a person can read it and, while no worker runs, edit it:

    {"format": "connect-offsets-1", "offsets": [
    [["orders",{"filename":"a.txt"}],{"position":21}]
    ]}

A save writes a new file, syncs it to disk and renames it over the old one, which stays as `<file>.previous`: a crash
leaves one or the other. A Java worker's file is read and never changed. The new file is then `<file>.connect`, and is
used from then on.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from connect.storage import java_offsets
from connect.storage.file_lock import FileLock, Locked
from connect.storage.offsets import MemoryOffsetStore, Offsets, OffsetStoreError, identity, key, to_json

_LOG = logging.getLogger(__name__)
_FORMAT = "connect-offsets-1"
_START_ANEW = "Restore it from a backup, or move it away to have every source start from its beginning."


class FileOffsetStore(MemoryOffsetStore):
    """Offsets in a file that one worker owns while the store is open.

    Raises:
        OffsetStoreError: a running worker uses the file, or it cannot be read, or it is not an offset file.
    """

    def __init__(self, path: Path | str) -> None:
        super().__init__()
        asked = Path(path).resolve()  # a rename would replace a symbolic link, not its target
        if not asked.parent.is_dir():
            raise OffsetStoreError(f"{asked}: the folder {asked.parent} does not exist. Create it.")
        self._file_lock = _lock(asked)
        try:
            self._path, self._offsets = _open(asked)
        except BaseException:
            self._file_lock.release()
            raise

    @property
    def path(self) -> Path:
        """The file that offsets are written to."""
        return self._path

    def close(self) -> None:
        self._file_lock.release()

    def _save(self, offsets: Offsets) -> None:
        new, previous = _beside(self._path, ".new"), _beside(self._path, ".previous")
        try:
            with new.open("w", encoding="utf-8") as file:
                file.write(_dump(offsets))
                file.flush()
                os.fsync(file.fileno())
            _keep(self._path, previous)
            new.replace(self._path)
            _sync_folder(self._path.parent)
        except OSError as error:
            raise OffsetStoreError(
                f"{self._path}: offsets could not be stored ({error.strerror}). The offsets stored before are intact."
            ) from error


def _lock(path: Path) -> FileLock:
    try:
        return FileLock(_beside(path, ".lock"))
    except Locked as error:
        raise OffsetStoreError(
            f"{path}: process {error.pid or 'unknown'} uses this offset file. "
            "Stop that worker, or give this one another offset.storage.file.filename."
        ) from error
    except OSError as error:
        raise OffsetStoreError(f"{path}: the folder {path.parent} cannot be written ({error.strerror}).") from error


def _open(asked: Path) -> tuple[Path, Offsets]:
    """The file to write, and the stored offsets."""
    ours = _beside(asked, ".connect")
    if ours.exists():
        _LOG.info("Offsets are stored in %s, which a worker created beside %s.", ours, asked)
        return ours, _read_or_previous(ours)
    data = _bytes(asked)
    if not data.startswith(java_offsets.MAGIC):
        return asked, _read_or_previous(asked)
    try:
        found = java_offsets.read(data)
    except java_offsets.NotOffsets as error:
        raise OffsetStoreError(f"{asked}: this is a serialized Java object, but {error}. {_START_ANEW}") from error
    _LOG.info(
        "Read %d offsets from %s, a Java worker's file, which stays unchanged. From now on offsets are stored in %s.",
        len(found),
        asked,
        ours,
    )
    return ours, _collect(found)


def _read_or_previous(path: Path) -> Offsets:
    data = _bytes(path)
    try:
        return _parse(data)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        return _previous(path, error)
    except ValueError as error:
        raise OffsetStoreError(f"{path}: {error}. {_START_ANEW}") from error


def _previous(path: Path, damage: Exception) -> Offsets:
    """The offsets of the save before. It replaces the damaged file, which stays as `<file>.broken`."""
    broken, previous, new = (_beside(path, suffix) for suffix in (".broken", ".previous", ".new"))
    try:
        found = _parse(previous.read_bytes())
        _keep(path, broken)
        new.unlink(missing_ok=True)
        os.link(previous, new)
        new.replace(path)
    except (OSError, ValueError):
        raise OffsetStoreError(
            f"{path}: this is not an offset file, or it is damaged ({damage}). {_START_ANEW}"
        ) from damage
    _LOG.warning(
        "%s is damaged (%s). Continuing from the previous save: some records are read again. It is kept as %s.",
        path,
        damage,
        broken,
    )
    return found


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise OffsetStoreError(f"{path}: the offset file cannot be read ({error.strerror}).") from error


def _dump(offsets: Offsets) -> str:
    lines = (
        f"[{key(connector, partition).decode()},{to_json(offset)}]"
        for connector in sorted(offsets)
        for partition, offset in offsets[connector].values()
    )
    return f'{{"format": "{_FORMAT}", "offsets": [\n' + ",\n".join(lines) + "\n]}\n"


def _parse(data: bytes) -> Offsets:
    """What `_dump` wrote; nothing from an empty file. ValueError says what is wrong."""
    if not data.strip():
        return {}
    document = json.loads(data)
    form = document.get("format") if isinstance(document, dict) else None
    if form != _FORMAT:
        raise ValueError(f"this is not an offset file that this version can read (format {form})")
    return _collect(_entries(document.get("offsets")))


def _entries(found: Any) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    if not isinstance(found, list):
        raise ValueError('"offsets" is not a list')
    for entry in found:
        match entry:
            case [[str(connector), dict(partition)], dict(offset)]:
                yield connector, partition, offset
            case _:
                raise ValueError(f"{json.dumps(entry)} is not an entry. Write [[connector,{{partition}}],{{offset}}]")


def _collect(entries: Any) -> Offsets:
    offsets: Offsets = {}
    for connector, partition, offset in entries:
        offsets.setdefault(connector, {})[identity(partition)] = partition, offset
    return offsets


def _keep(path: Path, previous: Path) -> None:
    """Keep the file under a second name when it is replaced."""
    previous.unlink(missing_ok=True)
    try:
        os.link(path, previous)
    except OSError:
        pass  # the first save, or a file system without links: the copy only helps when the file is damaged


def _sync_folder(folder: Path) -> None:
    """Make a rename durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)
