"""Who waits for a consumer's records is woken, and nobody else."""

import os
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from connect.kafka.reading.arrivals import Arrivals


@pytest.fixture
def arrivals() -> Any:
    return Arrivals(MagicMock(), 1)


def test_whoever_waits_is_woken(arrivals: Arrivals) -> None:
    arrivals.wake()
    arrivals.wait(30)
    arrivals.close()


def test_a_wake_after_the_end_touches_no_file_that_has_the_number_of_the_descriptor_now(
    arrivals: Arrivals, tmp_path: Path
) -> None:
    number = arrivals._ready
    with (tmp_path / "out").open("wb") as file:
        arrivals.close()
        os.dup2(file.fileno(), number)
        arrivals.wake()
        os.close(number)
    assert (tmp_path / "out").read_bytes() == b""
