"""Errors of deltalake in one line: what failed, where, and what to do."""

from __future__ import annotations

import re
from typing import Final

from connect.errors import ConnectError, RetriableError

#: What storage says that may pass by itself: a network or server that is away, a full disk that somebody clears.
_PASSES: Final = re.compile(
    r"HTTP error|timed? ?out|Connection|connect error|dns error|Server returned|SlowDown|TooManyRequests|50[0234]\b"
    r"|No space left|Too many open files|os error (?:4|11|23|24|28|104|110|111|113)\b",
    re.IGNORECASE,
)
_DENIED: Final = re.compile(
    r"Permission ?denied|os error (?:1|13)\b|code: 13\b|Forbidden|AccessDenied|Unauthorized|\b40[13]\b", re.IGNORECASE
)
_READ_ONLY: Final = re.compile(r"Read-only file system|os error 30\b|code: 30\b", re.IGNORECASE)
_NO_FOLDER: Final = re.compile(
    r"Not a directory|os error 20\b|code: 20\b|Could not create local directory", re.IGNORECASE
)
_SCHEME: Final = re.compile(r"Unknown scheme: (\S+?)\.")
_FEATURE: Final = re.compile(
    r"typeWidening|columnMapping|deletionVectors|[Uu]nsupported|not (?:yet )?supported|table feature"
)
_LONGEST: Final = 300
_COLORS: Final = re.compile(r"\x1b\[[0-9;]*m")


def is_missing(error: BaseException) -> bool:
    """Whether a TableNotFoundError means that there is no table yet: deltalake raises it for much else as well."""
    text = str(error)
    return not (_DENIED.search(text) or _SCHEME.search(text))


def is_beyond(error: BaseException) -> bool:
    """Whether a CommitFailedError means that the table needs what deltalake lacks, rather than a conflict."""
    return _FEATURE.search(str(error)) is not None


def table_error(error: BaseException, uri: str, doing: str) -> ConnectError:
    """Translate an error: into a `RetriableError` where trying again may help.

    Args:
        error: what deltalake raised. The caller chains it.
        uri: of the table.
        doing: what failed, in the passive: "be written".
    """
    text = _COLORS.sub("", str(error))
    start = f"Table {uri} could not {doing}: "
    if _READ_ONLY.search(text):
        return ConnectError(f"{start}its file system is read-only. Mount it for writing, or write to another place.")
    if _DENIED.search(text):
        return ConnectError(
            f"{start}access was denied. Give this process's user, or the credentials in storage.*, the right to write"
            " there."
        )
    if scheme := _SCHEME.search(text):
        return ConnectError(f'{start}"{scheme[1]}" is not a supported storage. Write a path, or s3://, az://, gs://.')
    if _NO_FOLDER.search(text):
        return ConnectError(f"{start}part of the path is not a folder. Check the key table.")
    if _PASSES.search(text):
        return RetriableError(f"{start}{_first_line(text)}")
    if _FEATURE.search(text):
        return ConnectError(f"{start}{_first_line(text)} The deltalake package does not know it; engine=spark may.")
    return ConnectError(f"{start}{_first_line(text)}")


def _first_line(text: str) -> str:
    # What follows may be a preview of rows.
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line.lstrip("↳ ") for line in lines if line.startswith("↳")]  # "Generic S3 error" alone says little
    line = ": ".join([*lines[:1], *causes])[:_LONGEST].strip() or "no reason was given"
    return line if line.endswith(".") else line + "."
