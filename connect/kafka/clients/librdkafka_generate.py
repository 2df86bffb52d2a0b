"""Writes `librdkafka.py`, the list of librdkafka's own settings: `python -m connect.kafka.clients.librdkafka_generate`.

Run it after an update of confluent-kafka; the difference in git shows what the update brought. librdkafka prints its
list through rd_kafka_conf_properties_show, which confluent-kafka does not offer, so it is called by ctypes.
"""

from __future__ import annotations

import ctypes
import re
import tempfile
from pathlib import Path

_ALIAS = re.compile(r"Alias for `([^`]+)`")
_TYPE = re.compile(r"\*Type: ([^*]+)\*")
_SCOPES = {"C": "consumer", "P": "producer", "*": "any"}
# An application callback or handle: it has a place in the list, but no text can set it.
_NOT_TEXT = "see dedicated API"


def generated() -> str:
    """The content of `librdkafka.py` for the installed librdkafka."""
    version, listing = _installed()
    rows = []
    seen = set()
    for line in listing.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) < 6 or cells[1] not in _SCOPES:
            continue
        name, scope, allowed = cells[:3]
        description = "|".join(cells[5:])
        kind = match[1] if (match := _TYPE.search(description)) else ""
        # Global settings come first in the list; a setting of topics with the same name is reached through them.
        if kind == _NOT_TEXT or name in seen:
            continue
        seen.add(name)
        alias = match[1] if (match := _ALIAS.match(description)) else ""
        rows.append(_row(name, _SCOPES[scope], kind, allowed, alias))
    return _HEAD.format(version=version) + "".join(sorted(rows)) + "}\n"


def _row(name: str, scope: str, kind: str, allowed: str, alias: str) -> str:
    arguments = [f'"{scope}"', f'"{kind}"']
    if span := re.fullmatch(r"(-?[\d.]+) \.\. (-?[\d.]+)", allowed):
        arguments.append(f"range=({span[1]}, {span[2]})")
    elif kind == "enum value":
        choices = ", ".join(f'"{choice.strip()}"' for choice in allowed.split(","))
        arguments.append(f"choices=({choices})")
    if alias:
        arguments.append(f'alias_of="{alias}"')
    return f'    "{name}": Property({", ".join(arguments)}),\n'


def _installed() -> tuple[str, str]:
    """Version and list of the loaded librdkafka."""
    import confluent_kafka
    from confluent_kafka import cimpl

    # A look-up by the extension's handle finds the symbols of the library that it was linked with.
    library = ctypes.CDLL(cimpl.__file__)
    libc = ctypes.CDLL(None)
    libc.fopen.restype = ctypes.c_void_p
    libc.fclose.argtypes = [ctypes.c_void_p]
    library.rd_kafka_conf_properties_show.argtypes = [ctypes.c_void_p]
    library.rd_kafka_conf_properties_show.restype = None
    with tempfile.NamedTemporaryFile() as listing:
        stream = libc.fopen(listing.name.encode(), b"w")
        library.rd_kafka_conf_properties_show(stream)
        libc.fclose(stream)
        return confluent_kafka.libversion()[0], Path(listing.name).read_text()


_HEAD = '''"""The settings of librdkafka {version}, written by `python -m connect.kafka.clients.librdkafka_generate`."""

from connect.kafka.clients.librdkafka_property import Property

PROPERTIES = {{
'''

if __name__ == "__main__":
    (Path(__file__).parent / "librdkafka.py").write_text(generated())
