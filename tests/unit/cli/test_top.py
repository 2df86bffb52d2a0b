"""`connect top`: rows of what workers answer, their order, lines that fit, and what keys ask for."""

import re

import pytest

from connect.cli._screen import keys_in
from connect.cli._table import width
from connect.cli._top_lines import View, once, percent, screen, scrolled, size
from connect.cli._top_rows import Look, connector_rows, in_order, matching, task_rows, worker_rows


def part(state, worker="w:1", **more):
    return {"state": state, "worker_id": worker, **more}


def status(name, *tasks, connector="RUNNING", kind="sink"):
    return {"name": name, "type": kind, "connector": part(connector), "tasks": list(tasks)}


def figures(cpu, rate=None, lag=None, memory=None, errors=0.0):
    return {
        "sink-task-metrics": {
            "sink-record-read-rate": rate,
            "sink-record-send-rate": rate,
            "put-batch-avg-time-ms": 12.34,
        },
        "connect-task-metrics": {"lag": lag, "cpu-seconds-total": cpu, "pss-bytes": memory, "bytes-rate": 2048.0},
        "task-error-metrics": {"total-record-errors": errors, "total-retries": 2.0},
    }


def look(at, statuses, **metrics):
    made = {
        name: {"tasks": [{"id": n, "metrics": groups} for n, groups in enumerate(tasks)], "unreachable": []}
        for name, tasks in metrics.items()
    }
    return Look(at, statuses, made)


def two_looks():
    statuses = [
        status("a", part("RUNNING", id=0), part("RUNNING", id=1, worker="w:2")),
        status("b", part("FAILED", id=0, trace="The disk is full.")),
    ]
    before = look(10.0, statuses, a=[figures(1.0), figures(5.0)], b=[figures(7.0)])
    now = look(
        12.0,
        statuses,
        a=[figures(2.0, 10.0, 3.0, 1024.0**2), figures(5.5, 30.0, 1.0, 3 * 1024.0**2, errors=4.0)],
        b=[figures(0.1)],
    )
    return before, now


def test_cpu_is_what_was_used_since_the_look_before_and_unknown_of_another_process():
    before, now = two_looks()
    assert [row.cpu_percent for row in task_rows(now, before)] == [50.0, 25.0, None]
    assert [row.cpu_percent for row in task_rows(now)] == [None, None, None]


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("s", ["b-0", "a-0", "a-1"]),
        ("c", ["a-0", "a-1", "b-0"]),
        ("m", ["a-1", "a-0", "b-0"]),
        ("r", ["a-1", "a-0", "b-0"]),
        ("l", ["a-0", "a-1", "b-0"]),
        ("e", ["a-1", "b-0", "a-0"]),  # of those that have none, what failed
        ("n", ["a-0", "a-1", "b-0"]),
    ],
)
def test_the_most_stands_first_and_what_is_not_known_last(by, names):
    before, now = two_looks()
    assert [row.name for row in in_order(task_rows(now, before), by)] == names


def test_what_waits_stands_behind_what_failed_and_the_busy_before_the_idle():
    waits = {"reason": "The database is away.", "since_ms": 0}
    tasks = [part("RUNNING", id=0), part("RUNNING", id=1), part("RUNNING", id=2, waiting=waits), part("STALLED", id=3)]
    statuses = [status("a", *tasks), status("b", part("FAILED", id=0))]
    before = look(0.0, statuses, a=[figures(1.0)] * 4)
    now = look(1.0, statuses, a=[figures(1.1), figures(1.9), figures(1.0), figures(1.0)])
    assert [row.name for row in in_order(task_rows(now, before), "s")] == ["b-0", "a-3", "a-2", "a-1", "a-0"]


def test_an_order_is_turned_around_without_what_is_not_known():
    before, now = two_looks()
    assert [row.name for row in in_order(task_rows(now, before), "c", reverse=True)] == ["a-1", "a-0", "b-0"]


def test_a_connector_has_the_sums_of_its_tasks_and_the_time_of_the_slowest():
    before, now = two_looks()
    first, second = connector_rows(now.statuses, task_rows(now, before))
    assert (first.records_out, first.lag, first.cpu_percent, first.retries) == (40.0, 4.0, 75.0, 4.0)
    assert first.latency_ms == 12.34
    assert (second.name, second.state, second.reason) == ("b", "FAILED", "The disk is full.")


def test_a_connector_without_tasks_has_a_row():
    assert [(row.name, row.state) for row in task_rows(look(0, [status("c", connector="PAUSED")]))] == [("c", "PAUSED")]


def test_workers_have_what_runs_there_and_why_their_figures_are_missing():
    before, now = two_looks()
    now.metrics["a"]["unreachable"] = [{"worker_id": "w:2", "reason": "It had no answer."}]
    first, second = worker_rows(now, task_rows(now, before))
    assert (first.worker, first.connectors, first.tasks, first.failed, first.cpu_percent) == ("w:1", 2, 2, 1, 50.0)
    assert (second.worker, second.tasks, second.note) == ("w:2", 1, "It had no answer.")


@pytest.mark.parametrize(("text", "names"), [("A-", ["a-0", "a-1"]), ("w:2", ["a-1"]), ("disk", ["b-0"]), ("x", [])])
def test_a_filter_looks_at_names_states_workers_and_reasons(text, names):
    assert [row.name for row in matching(task_rows(two_looks()[1]), text)] == names


def test_figures_that_no_worker_tells_are_dashes():
    rows = task_rows(look(0, [status("a", part("RUNNING", id=0))]))
    line = once([], rows).splitlines()[-1]
    assert re.match(r"a-0 +RUNNING +sink( +\u2013){9} +w:1$", line)


@pytest.mark.parametrize("columns", [20, 40, 80, 120, 200])
@pytest.mark.parametrize("lines", [6, 24])
def test_a_screen_is_never_wider_or_longer_than_the_terminal(columns, lines):
    before, now = two_looks()
    tasks = task_rows(now, before) * 20
    shown = screen("title " * 30, worker_rows(now, tasks), tasks, View(), columns, lines, colour=True)
    plain = [re.sub(r"\x1b\[\d+m", "", line) for line in shown]
    assert len(plain) < lines
    assert max(map(len, plain)) < columns
    assert any("b-0" in line for line in plain)  # it failed


def test_wide_letters_move_no_column_and_no_line_breaks():
    now = look(0, [status("日本語" * 10, part("RUNNING", id=0)), status("a", part("RUNNING", id=0))])
    for columns in (40, 80, 200):
        shown = screen("題" * 200, [], task_rows(now), View(sort="n"), columns, 9, colour=True)
        plain = [re.sub(r"\x1b\[\d+m", "", line) for line in shown]
        assert max(map(width, plain)) < columns
        assert len({width(line[: line.index("RUNNING")]) for line in plain if "RUNNING" in line}) == 1
        assert sum("\x1b[32mRUNNING\x1b[0m" in line for line in shown) == 2


def test_a_narrow_terminal_keeps_name_state_and_rate_and_a_wide_one_shows_reasons():
    before, now = two_looks()
    tasks = task_rows(now, before)
    narrow = screen("", [], tasks, View(), 50, 24, colour=False)
    assert narrow[2].split()[:3] == ["NAME", "STATE▼", "OUT/s"]
    wide = screen("", [], tasks, View(), 200, 24, colour=False)
    assert "The disk is full." in "\n".join(wide)


def test_the_screen_scrolls_no_further_than_there_are_lines():
    tasks = task_rows(look(0, [status(f"c{n:02}", part("RUNNING", id=0)) for n in range(40)]))
    last = screen("", [], tasks, View(sort="n", first=1000), 100, 20, colour=False)
    assert any(line.startswith("c39-0") for line in last)


@pytest.mark.parametrize("workers", [0, 3, 30])
def test_a_key_beyond_the_last_line_need_not_be_taken_back(workers):
    now = look(0, [status(f"c{n:02}", part("RUNNING", f"w{n % max(1, workers)}", id=0)) for n in range(40)])
    tasks = task_rows(now)
    shown = worker_rows(now, tasks)[:workers]

    def drawn(view):
        return screen("", shown, tasks, view, 100, 20, colour=False)

    last = scrolled(View(sort="n", first=1000), len(shown), len(tasks), 20)
    assert drawn(last) == drawn(View(sort="n", first=1000))
    assert drawn(last.after("up")) != drawn(last)
    assert scrolled(View(first=1), 0, 3, 20).first == 0


def test_keys_sort_filter_pause_and_quit():
    view = View()
    for key in "ll/or":
        view = view.after(key)
    assert (view.sort, view.reverse, view.text, view.typing) == ("l", True, "or", True)
    view = view.after("q").after("backspace").after("enter")
    assert (view.text, view.typing, view.quit) == ("or", False, False)
    view = view.after("escape").after(" ").after("t").after("down").after("up").after("up")
    assert (view.text, view.paused, view.connectors, view.first) == ("", True, True, 0)
    assert view.after("x") == view
    assert view.after("q").quit


def test_keys_are_told_apart_and_unknown_sequences_left_out():
    assert keys_in("c\x1b[A\x1b[6~\x1b[1;5C/é\r\x7f\x1b") == [
        "c", "up", "pagedown", "/", "é", "enter", "backspace", "escape",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "text"), [(None, "\u2013"), (0, "0B"), (999, "999B"), (2048, "2.0K"), (250 * 1024**2, "250M")]
)
def test_bytes_are_short(value, text):
    assert size(value) == text


def test_percent():
    assert (percent(None), percent(0.04), percent(250.4)) == ("\u2013", "0.0", "250")
