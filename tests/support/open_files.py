"""A process with many open files."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

#: Beyond what `select()` knows.
_MANY = 1100


@contextmanager
def many_open_files() -> Iterator[None]:
    """More than a thousand, whose numbers the next ones are behind."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2 * _MANY:
        pytest.skip(f"this user may open {hard} files only")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * _MANY), hard))
    files = [os.open(os.devnull, os.O_RDONLY) for _ in range(_MANY)]
    try:
        yield
    finally:
        for file in files:
            os.close(file)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
