from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench import flow
from bench.flow import NothingFlows, await_since, lose, newest, stamp


class Source:
    """Stands for `Ticks`: its last round, which a test moves."""

    def __init__(self) -> None:
        self.last = 1000.0
        self.is_held = False

    @contextmanager
    def held(self) -> Iterator[None]:
        self.is_held = True
        yield
        self.is_held = False


class Clock:
    """A time in which things happen while somebody sleeps, so many seconds after 1001."""

    def __init__(self) -> None:
        self.now = 1001.0
        self.script: list[tuple[float, Callable[[], None]]] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        while self.script and self.now >= 1001.0 + self.script[0][0]:
            self.script.pop(0)[1]()


def append(target: Path, text: str) -> None:
    with target.open("a", encoding="utf-8") as file:
        file.write(text)


def test_only_a_whole_last_line_counts(tmp_path: Path) -> None:
    target = tmp_path / "target"
    assert newest(target) == 0.0
    append(target, "17.250000\n")
    assert newest(target) == 17.25
    append(target, "18.5")
    assert newest(target) == 17.25
    append(target, "00000\n")
    assert newest(target) == 18.5
    append(target, "".join(f"{1000 + number}.000000\n" for number in range(100)))
    assert newest(target) == 1099


def test_a_record_is_of_the_moment_at_which_it_was_written(tmp_path: Path) -> None:
    """Not of one before it by less than a microsecond: then nobody would ever have what was written last."""
    target = tmp_path / "target"
    append(target, stamp(715.3149264049999).decode() + "\n")
    assert newest(target) == 715.3149264049999


def test_a_target_that_gets_only_old_records_is_dry(tmp_path: Path) -> None:
    append(tmp_path / "old", "999.000000\n")
    append(tmp_path / "new", "1001.000000\n")
    with pytest.raises(NothingFlows, match=r"no record within 0\.1 s in 1 targets, such as old"):
        await_since({name: tmp_path / name for name in ("old", "new")}, 1000.0, 0.1)


def test_a_loss_lasts_until_a_record_of_after_the_kill_is_in_the_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records of before that a successor repeats do not end it."""
    quick, slow = tmp_path / "quick", tmp_path / "slow"
    clock, source = Clock(), Source()
    monkeypatch.setattr(flow, "time", clock)
    for target in (quick, slow):
        append(target, "1000.000000\n")

    def kill() -> None:
        assert source.is_held
        clock.script = [
            (5.0, lambda: append(quick, "1002.000000\n")),
            (15.0, lambda: append(slow, "1000.000000\n")),  # the same once more
            (44.0, lambda: append(slow, "1000.000000\n1002.000000\n")),
        ]

    killed, seconds = lose(source, {"slow": slow, "quick": quick}, kill, 60)  # type: ignore[arg-type]
    assert killed == 1001.0
    assert seconds == pytest.approx([5.0, 44.0], abs=0.1)
    assert not source.is_held


def test_nothing_is_killed_while_records_are_under_way(tmp_path: Path) -> None:
    target = tmp_path / "target"
    append(target, "999.000000\n")  # the last round was at 1000
    with pytest.raises(NothingFlows):
        lose(Source(), {"one": target}, lambda: pytest.fail("it was killed"), 0.1)  # type: ignore[arg-type]
