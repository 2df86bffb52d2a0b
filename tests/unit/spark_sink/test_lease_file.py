"""Work begins only while the lease holds that the file tells of."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from spark_sink.lease_file import LeaseFile, lease_is_over, work_may_begin

pytestmark = pytest.mark.promise("P3")


def now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@pytest.fixture
def lease_file(tmp_path: Path) -> LeaseFile:
    return LeaseFile(tmp_path / "deep" / "lease_file")


def test_a_gate_is_shut_until_it_is_opened_and_again_when_its_time_is_over(lease_file):
    path = str(lease_file.path)
    assert not work_may_begin(path)
    lease_file.hold_until(now() + 60)
    assert work_may_begin(path)
    assert not lease_is_over(path)
    lease_file.hold_until(now() - 0.001)
    assert not work_may_begin(path)
    assert lease_is_over(path)


def test_a_gate_shut_on_purpose_says_nothing_of_the_lease(lease_file):
    lease_file.hold_until(now() + 60)
    lease_file.hold_until(0.0)
    assert not work_may_begin(str(lease_file.path))
    assert not lease_is_over(str(lease_file.path))


def test_a_file_that_is_closed_is_gone_and_the_lease_over(lease_file):
    lease_file.hold_until(now() + 60)
    lease_file.close()
    assert not lease_file.path.exists()
    assert not work_may_begin(str(lease_file.path))
    assert not lease_is_over(str(lease_file.path))


def test_what_is_no_such_file_holds_no_lease(tmp_path):
    for content in (b"", b"1234567"):
        (tmp_path / "lease_file").write_bytes(content)
        assert not work_may_begin(str(tmp_path / "lease_file"))
    assert not work_may_begin(str(tmp_path))


def test_a_file_made_anew_over_another_holds_no_lease(lease_file):
    lease_file.hold_until(now() + 60)
    assert not work_may_begin(str(LeaseFile(lease_file.path).path))


def test_it_is_seen_from_another_process_and_nobody_else_may_read_it(lease_file):
    code = "import sys; from spark_sink.lease_file import work_may_begin; print(work_may_begin(sys.argv[1]))"

    def there() -> str:
        return subprocess.run(
            [sys.executable, "-c", code, lease_file.path], capture_output=True, text=True, check=True, timeout=60
        ).stdout.strip()

    assert there() == "False"
    lease_file.hold_until(now() + 600)
    assert there() == "True"
    assert lease_file.path.stat().st_mode & 0o777 == 0o600


def test_a_gate_that_is_not_closed_opens_no_door_for_who_is_killed(lease_file):
    """What a killed process leaves behind is a moment, and moments pass."""
    lease_file.hold_until(now() + 0.01)
    path = str(lease_file.path)
    while now() < 0.02 or work_may_begin(path):
        pass
    assert lease_is_over(path)
