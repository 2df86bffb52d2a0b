"""The files with which connectors move into another pool: `connect migrate --out`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from connect.cli._migration import Verdict
from connect.plugins import CONVERTERS
from connect.telemetry.redaction import MASK

_OWNER_ONLY: Final = 0o600


def write(out: str, verdicts: Sequence[Verdict], worker: Mapping[str, str]) -> list[str]:
    """The files of all connectors, readable by their owner only: Java's workers show secrets as they are.

    Args:
        out: the folder.
        verdicts: about the connectors.
        worker: the properties of their present worker, as they are written; empty where nobody has named them.
    """
    connectors, offsets = Path(out, "connectors"), Path(out, "offsets")
    for each in (connectors, offsets):
        each.mkdir(parents=True, exist_ok=True)
    written = []
    for verdict in verdicts:
        name = f"{_file_name(verdict.name)}.json"
        config = with_converters(verdict.config, worker)
        written.append(_private(connectors / name, _text(verdict, config)))
        if verdict.connector.offsets is not None:
            text = json.dumps(verdict.connector.offsets, indent=2, ensure_ascii=False)
            written.append(_private(offsets / name, text + "\n"))
        else:  # those of an earlier run are not these
            (offsets / name).unlink(missing_ok=True)
        if unknown := verdict.connector.unknown:
            print(
                f"warning: {verdict.name}: its offsets are unknown, and without them it starts over: {unknown}.",
                file=sys.stderr,
            )
        if hidden := sorted(key for key, value in config.items() if MASK in value):
            print(f"warning: {verdict.name}: the cluster hides {', '.join(hidden)}: write them.", file=sys.stderr)
    return written


def with_converters(config: Mapping[str, str], worker: Mapping[str, str]) -> dict[str, str]:
    """A configuration with the converters that its worker gives it: another worker may have others.

    A connector without a converter of its own gets the worker's with the worker's sub-keys, and its own have no effect.
    """
    found = dict(config)
    for key in CONVERTERS:
        name = worker.get(key, "").strip()
        if name and not found.get(key, "").strip():
            found = {each: value for each, value in found.items() if not each.startswith(f"{key}.")}
            sub_keys = {each: value.strip() for each, value in worker.items() if each.startswith(f"{key}.")}
            found |= {key: name, **sub_keys}
    return found


def _text(verdict: Verdict, config: dict[str, str]) -> str:
    """The file of a connector, as `connect apply` and `POST /connectors` take it."""
    body: dict[str, Any] = {"name": verdict.name, "config": config}
    if (state := verdict.connector.file.initial_state) is not None:
        body["initial_state"] = state
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"


def _private(path: Path, text: str) -> str:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _OWNER_ONLY), "w", encoding="utf-8") as file:
        os.fchmod(file.fileno(), _OWNER_ONLY)
        file.write(text)
    return str(path)


def _file_name(connector: str) -> str:
    """A name for a file, the same for the same connector and different for others."""
    name = "".join(char if char.isalnum() or char in "-_." else f"%{ord(char):x}" for char in connector)
    return f"%2e{name[1:]}" if name.startswith(".") else name  # a hidden file is not a connector's
