"""What `connect bench` makes of a worker's page: shares of time, rates, and the bottleneck with what to try."""

import re

import pytest

from connect.cli._bench_figures import look, outcome


def page(kind, records, put=0.0, poll=0.0, convert=0.0, wrap=0.0, other=0.0):
    lines = [f'connect_task_batch_records_count{{connector="c",task="0"}} {records / 100}']
    if kind == "sink":
        lines += [
            f'kafka_connect_sink_task_metrics_sink_record_read_total{{connector="c",task="0"}} {records}',
            f'connect_sink_put_seconds_sum{{connector="c",task="0"}} {put}',
            f'connect_sink_bytes_total{{connector="c",task="0"}} {records * 10}',
        ]
    else:
        lines += [
            f'kafka_connect_source_task_metrics_source_record_write_total{{connector="c",task="0"}} {records}',
            f'connect_source_poll_seconds_sum{{connector="c",task="0"}} {poll}',
        ]
    for stage, step, seconds in (("value_converter", "JsonConverter", convert), ("transformation", "wrap", wrap)):
        lines.append(f'connect_task_step_seconds_sum{{connector="c",stage="{stage}",step="{step}",task="0"}} {seconds}')
    lines.append(f'connect_sink_put_seconds_sum{{connector="another",task="0"}} {other}')
    return "# HELP x y\n" + "\n".join(lines) + "\n"


def measured(kind, cpu=1.0, seconds=10.0, **spent):
    first = look(100.0, page(kind, 1000), "c", {0: (5.0, 1e6)})
    last = look(100.0 + seconds, page(kind, 11_000, **spent), "c", {0: (5.0 + cpu, 2e6)})
    return outcome("c", kind, first, last)


def test_figures_are_those_between_two_looks_and_of_one_connector():
    found = measured("sink", cpu=2.0, put=5.0, convert=2.0, wrap=1.0, other=99.0)
    assert (found.records, found.records_per_second, found.bytes_per_second) == (10_000, 1000, 10_000)
    assert (found.records_per_batch, found.cores, found.cpu_us_per_record) == (100, 0.2, 200)
    assert found.shares == pytest.approx(
        {
            "put": 0.5,
            "value converter: JsonConverter": 0.2,
            "transformation: wrap": 0.1,
            "waiting for records of Kafka": 0.2,
        }
    )


@pytest.mark.parametrize(
    ("kind", "spent", "cpu", "says", "advises"),
    [
        ("sink", {"put": 8.0}, 1.0, "put and pre_commit: 80%.*it waits for its target", "batch size"),
        ("sink", {"put": 8.0}, 9.5, "put and pre_commit: 80%.*own code computes", "tasks.max"),
        ("sink", {"convert": 5.0, "wrap": 1.0}, 9.5, "converters and.*60%.*in value converter: Json", "cheaper"),
        ("sink", {"put": 1.0}, 1.0, "Kafka: 90%.*waiting for records", "brokers"),
        ("sink", {"put": 1.0}, 9.5, "process: 90%.*reading records", "tasks.max"),
        ("source", {"poll": 7.0}, 1.0, "poll: 70%.*waits for its source", "divided"),
        ("source", {"poll": 1.0}, 1.0, "Kafka: 90%.*acknowledgements", "linger"),
        ("source", {"poll": 1.0}, 9.9, "process: 90%.*sending", "tasks.max"),
    ],
)
def test_the_bottleneck_is_what_took_the_most_time(kind, spent, cpu, says, advises):
    found = measured(kind, cpu=cpu, **spent)
    assert re.search(says, found.bottleneck), found.bottleneck
    assert advises in found.advice
