"""The gate: work begins only while it is open."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from spark_sink.query.gate import Gate, lease_is_over, work_may_begin

pytestmark = pytest.mark.promise("P3")


def now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path / "deep" / "gate")


def test_a_gate_is_shut_until_it_is_opened_and_again_when_its_time_is_over(gate):
    path = str(gate.path)
    assert not work_may_begin(path)
    gate.open_until(now() + 60)
    assert work_may_begin(path)
    assert not lease_is_over(path)
    gate.open_until(now() - 0.001)
    assert not work_may_begin(path)
    assert lease_is_over(path)


def test_a_gate_shut_on_purpose_says_nothing_of_the_lease(gate):
    gate.open_until(now() + 60)
    gate.open_until(0.0)
    assert not work_may_begin(str(gate.path))
    assert not lease_is_over(str(gate.path))


def test_a_gate_that_is_closed_is_gone_and_shut(gate):
    gate.open_until(now() + 60)
    gate.close()
    assert not gate.path.exists()
    assert not work_may_begin(str(gate.path))
    assert not lease_is_over(str(gate.path))


def test_a_gate_that_is_no_gate_is_shut(tmp_path):
    for content in (b"", b"1234567"):
        (tmp_path / "gate").write_bytes(content)
        assert not work_may_begin(str(tmp_path / "gate"))
    assert not work_may_begin(str(tmp_path))


def test_a_gate_made_anew_over_an_open_one_is_shut(gate):
    gate.open_until(now() + 60)
    assert not work_may_begin(str(Gate(gate.path).path))


def test_it_is_seen_from_another_process_and_nobody_else_may_read_it(gate):
    code = "import sys; from spark_sink.query.gate import work_may_begin; print(work_may_begin(sys.argv[1]))"

    def there() -> str:
        return subprocess.run(
            [sys.executable, "-c", code, gate.path], capture_output=True, text=True, check=True, timeout=60
        ).stdout.strip()

    assert there() == "False"
    gate.open_until(now() + 600)
    assert there() == "True"
    assert gate.path.stat().st_mode & 0o777 == 0o600


def test_a_gate_that_is_not_closed_opens_no_door_for_who_is_killed(gate):
    """What a killed process leaves behind is a moment, and moments pass."""
    gate.open_until(now() + 0.01)
    path = str(gate.path)
    while now() < 0.02 or work_may_begin(path):
        pass
    assert lease_is_over(path)
