"""The keys of the sinks that each store has under a name of its own."""

from __future__ import annotations

from typing import Final

from connect import settings

FORMAT: Final = "Format"
UPLOADS: Final = "Uploads"

MIB: Final = 1 << 20


def compression_type(key: str) -> settings.Setting[str]:
    """The key for the compression of files."""
    return settings.String(
        key,
        default="none",
        importance="LOW",
        group=FORMAT,
        validator=settings.one_of("none", "gzip", "snappy", "zstd", ignore_case=True),
        doc="How files of json, csv, bytes and string are compressed: none, gzip, zstd or snappy (as Java's "
        "SnappyOutputStream does it).",
    )


def compression_level(key: str) -> settings.Setting[int]:
    """The key for the level of that."""
    return settings.Int(
        key,
        default=-1,
        importance="LOW",
        group=FORMAT,
        validator=settings.between(-1, 22),
        doc="The level of gzip (0 to 9) or zstd (1 to 22). -1 is the default level of each.",
    )


def part_size(key: str, least: int, most: int = 2**31 - 1) -> settings.Setting[int]:
    """The key for the size of parts, between these numbers of bytes."""
    return settings.Int(
        key,
        default=25 * MIB,
        importance="HIGH",
        group=UPLOADS,
        validator=settings.between(least, most),
        doc=f"The sink uploads a larger file in parts of this many bytes, as it grows. At least {least // MIB} MiB.",
    )


def memory(key: str, spill: str, least: int) -> settings.Setting[int]:
    """The key for the memory of a task; `spill` is the key for the folder, `least` the size of the smallest part."""
    return settings.Long(
        key,
        default=128 * MIB,
        group=UPLOADS,
        validator=settings.at_least(16 * MIB),
        doc="How much memory a task gives to all its open files and uploads. When it is full, the sink uploads a part "
        f"of the largest file if it has {least // MIB} MiB, or else moves it to the folder {spill}. If uploads are too "
        "slow, consumption waits.",
    )


def spill_folder(key: str, part_size: str) -> settings.Setting[str]:
    """The key for the folder of what does not fit into memory; `part_size` is the key for the size of parts."""
    return settings.String(
        key,
        default="",
        importance="LOW",
        group=UPLOADS,
        doc=f"The folder for data that does not fit into memory; at most {part_size} for each open file. Default: "
        "the machine's temporary folder.",
    )


def threads(key: str) -> settings.Setting[int]:
    """The key for the number of upload threads."""
    return settings.Int(
        key,
        default=4,
        importance="LOW",
        group=UPLOADS,
        validator=settings.between(1, 16),
        doc="The maximum number of a task's requests at a time.",
    )
