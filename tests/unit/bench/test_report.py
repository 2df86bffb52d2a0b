from dataclasses import replace

from bench.measure import Run
from bench.report import MEASURES, as_json, ratios, tables
from bench.work import ALL

WORK = ALL[0]
RUN = Run(
    work=WORK.name,
    side="java",
    round=1,
    records=1_000_000,
    to_first=5.0,
    seconds=4.0,
    after_first=800_000,
    cpu=14.0,
    cpu_to_first=6.0,
    broker_cpu=2.0,
    other_share=0.1,
    pss=900_000_000,
    rss=1_000_000_000,
    processes=1,
)


def test_figures_of_a_run() -> None:
    assert RUN.rate == 200_000
    assert RUN.cpu_per_million == 14
    assert RUN.cpu_per_million_started == 10
    assert RUN.broker_cpu_per_million == 2


def test_a_ratio_is_taken_within_a_round_and_only_of_rounds_that_both_ended() -> None:
    rate = MEASURES[0]
    runs = [
        RUN,
        replace(RUN, side="ours", seconds=1.0),
        replace(RUN, round=2, seconds=8.0),
        replace(RUN, side="ours", round=2, seconds=4.0),
        replace(RUN, side="ours", round=3, seconds=1.0),
    ]
    assert ratios(runs, WORK, rate) == [4.0, 2.0]
    assert as_json(runs, [WORK], {})["ratios"][WORK.name][rate.title] == [4.0, 2.0]


def test_the_table_shows_medians_and_the_spread() -> None:
    runs = [
        replace(RUN, side=side, round=number, to_first=first)
        for side, firsts in (("java", (5.0, 4.0, 8.0)), ("ours", (1.0, 1.0, 1.0)))
        for number, first in enumerate(firsts, 1)
    ]
    line = next(line for line in tables(runs, [WORK]).splitlines() if "first record" in line)
    assert [cell.strip() for cell in line.split("|")[2:-1]] == ["5.00", "1.00", "0.20", "0.12", "0.25"]


def test_a_side_without_a_figure_is_named_as_failed() -> None:
    line = next(line for line in tables([RUN], [WORK]).splitlines() if "records/s" in line)
    assert [cell.strip() for cell in line.split("|")[2:-1]] == ["200,000", "failed", "", "", ""]
