from bench.measure import Run
from bench.work import LINES

RUN = Run(
    work=LINES[0].name,
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


def test_a_round_has_what_a_document_asks_for() -> None:
    figures = RUN.figures()
    assert (figures["records"], figures["seconds"], figures["rate"]) == (800_000, 4.0, 200_000)
    assert (figures["cpu_s"], figures["cpu_us"], figures["cpu_us_started"]) == (14.0, 14.0, 10.0)
    assert (figures["pss_mb"], figures["start_s"]) == (900, 5.0)
