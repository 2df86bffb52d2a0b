"""Editing a payload in the user's editor."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from connect.cli._dlq_text import laid_out
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
    as_json = laid_out(text)
    shown = text if as_json is None else as_json
    editor = command or os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="connect-") as folder:
        file = Path(folder) / f"{name.replace(':', '-')}.{'txt' if as_json is None else 'json'}"
        file.write_text(shown, encoding="utf-8")
        try:
            code = subprocess.run([*shlex.split(editor), str(file)], check=False).returncode
        except (OSError, ValueError) as error:
            raise ConnectError(f"The editor {editor} cannot be started: {error}.") from error
        if code:
            raise ConnectError(f"The editor ended with {code}; its result is discarded.")
        try:
            changed = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ConnectError("what the editor left is not UTF-8.") from None
    if changed == shown:
        return data
    if not changed.strip():
        return None
    if as_json is None:
        # Many editors end a file with a line feed that nobody typed.
        ended = changed.endswith("\n") and not shown.endswith("\n")
        return (changed[:-1] if ended else changed).encode()
    packed = laid_out(changed, -1)
    if packed is None:
        raise ConnectError("what the editor left is not JSON.")
    return packed.encode()
