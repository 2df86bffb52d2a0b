"""Editing a payload in the user's editor."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
from pathlib import Path

import msgspec

from connect.errors import ConnectError


def edit(data: bytes | None, name: str, command: str | None = None) -> bytes | None:
    """Edit a payload; None where it was emptied. JSON is formatted for it, and compacted again.

    Args:
        data: text; null is empty.
        name: for the file.
        command: of an editor that exits when it is done; by default $VISUAL or $EDITOR.

    Raises:
        ConnectError: it is not text, the editor fails, or JSON is no longer valid.
    """
    try:
        text = (data or b"").decode()
    except UnicodeDecodeError:
        raise ConnectError("its value is not text, and cannot be edited.") from None
    is_json = _is_json(text)
    shown = msgspec.json.format(text, indent=2) if is_json else text
    editor = command or os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="connect-") as folder:
        file = Path(folder) / f"{name.replace(':', '-')}.{'json' if is_json else 'txt'}"
        file.write_text(shown, encoding="utf-8")
        try:
            code = subprocess.run([*shlex.split(editor), str(file)], check=False).returncode
        except (OSError, ValueError) as error:
            raise ConnectError(f"The editor {editor} cannot be started: {error}.") from error
        if code:
            raise ConnectError(f"The editor ended with {code}; its result is discarded.")
        changed = file.read_text(encoding="utf-8")
    if changed == shown:
        return data
    if not changed.strip():
        return None
    if not is_json:
        # Many editors end a file with a line feed that nobody typed.
        ended = changed.endswith("\n") and not shown.endswith("\n")
        return (changed[:-1] if ended else changed).encode()
    if not _is_json(changed):
        raise ConnectError("what the editor left is not JSON.")
    return msgspec.json.format(changed, indent=-1).encode()


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
