"""Which tests are one day's, where not all of them fit into the time there is; what a run says whose process died."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.selection import in_turns, todays


def test_every_module_has_its_turn_within_as_many_days_as_the_circle_needs(seed):
    chance = random.Random(seed)
    lengths = {f"module{number:03}": chance.uniform(0.1, 90) for number in range(150)}
    whole, seconds, first = sum(lengths.values()), 700.0, chance.randrange(800_000)
    days = [set(todays(lengths, seconds, first + day)) for day in range(int(2 * whole / seconds) + 2)]
    assert set.union(*days) == set(lengths)


def test_a_day_takes_no_more_than_its_time_and_one_module(seed):
    chance = random.Random(seed)
    lengths = {f"module{number:03}": chance.uniform(0.1, 90) for number in range(150)}
    for day in range(730_000, 730_100):
        assert sum(lengths[module] for module in todays(lengths, 700.0, day)) <= 700.0 + 2 * 90


def test_a_day_goes_on_where_the_day_before_ended():
    lengths = dict.fromkeys("abcdef", 60.0)
    assert [todays(lengths, 120.0, day) for day in range(4)] == [["a", "b"], ["c", "d"], ["e", "f"], ["a", "b"]]


def test_a_day_begins_with_the_same_module_whether_it_has_a_little_more_time_or_less():
    lengths = dict.fromkeys("abcdefgh", 60.0)
    assert set(todays(lengths, 140.0, 739_000)) < set(todays(lengths, 200.0, 739_000))


def test_all_modules_are_one_day_s_where_they_fit():
    assert todays({"a": 1.0, "b": 2.0}, 3.0, day=5) == ["a", "b"]


def test_what_takes_long_comes_first_and_what_computes_in_turns_with_what_waits():
    lengths = {"spark/a": 60.0, "spark/b": 20.0, "c": 300.0, "d": 100.0, "e": 0.0}
    turns = in_turns(lengths)
    assert sorted(turns, key=turns.__getitem__) == ["c", "spark/a", "d", "spark/b", "e"]


PLUGIN = """
from tests.support.selection import Selection, add_options

pytest_addoption = add_options


def pytest_configure(config):
    config.pluginmanager.register(Selection(config))
"""


@pytest.mark.parametrize(("does", "code"), [("pass", 0), ("assert False", 1), ("os._exit(0)", 3)])
def test_a_process_that_dies_ends_the_run_with_an_error_of_its_own(tmp_path, does, code):
    (tmp_path / "selecting.py").write_text(PLUGIN)
    (tmp_path / "pytest.ini").write_text("[pytest]")
    (tmp_path / "test_it.py").write_text(f"import os\n\ndef test_it():\n    {does}\n")
    options = ["-p", "selecting", "-p", "xdist", "-n", "1", "--max-worker-restart=0", str(tmp_path)]
    path = f"{tmp_path}{os.pathsep}{Path(__file__).parents[2]}"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if "PYTEST" not in name}
        | {"PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
