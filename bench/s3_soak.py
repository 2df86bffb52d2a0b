"""`python -m bench.s3_soak`: 200 open files of one task of the S3 sink, and its memory all the while.

Records of about 200 bytes go into 200 folders by a field, 20,000 a second, in lines of JSON in gzip, into Versity's S3
gateway on this machine; the task has 64 MiB for files. Memory is that of the worker's whole process tree, looked at
each second, each shared page divided among those who share it. `python -m bench.page` draws it.
"""

import json
import statistics
import sys
import threading
import time
from typing import Any, NamedTuple

from bench import one
from bench.bars import bar_of, judge
from bench.document import Rows
from bench.machine import say, versions
from bench.part import Settings
from bench.s3 import WORKER, row
from bench.standalone import MeasurementFailed, end_of_log, worker
from bench.tables import markdown, marked
from bench.topics import make
from connect.kafka.broker import embedded as broker
from connect.telemetry import processes as tree

MINUTES = 5.0
RATE = 20_000
FOLDERS = 200
TOPIC = "soak"
MEMORY_MIB = 64
PICTURE = "images/s3-memory.svg"  # beside docs/performance.md
_ROUND = 20_000
#: A picture needs no more points.
_SAMPLES = 150


class Sample(NamedTuple):
    """At a moment, in seconds since the start: memory in MB, and how many objects there are."""

    at: float
    memory: float
    objects: int


class Filler(threading.Thread):
    """Writes records into the topic at an even rate until it is told to end."""

    def __init__(self, bootstrap: str, rate: int) -> None:
        super().__init__(daemon=True)
        self._servers = bootstrap
        self._rate = rate
        self.ended = threading.Event()
        self.sent = 0

    def run(self) -> None:
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self._servers, "linger.ms": 20})
        values = [json.dumps({**row(n), "folder": n % FOLDERS}).encode() for n in range(_ROUND)]
        began = time.monotonic()
        while not self.ended.is_set():
            for first in range(0, _ROUND, 1000):
                producer.produce_batch(TOPIC, [{"value": value} for value in values[first : first + 1000]])
                self.sent += 1000
                while len(producer) > 50_000:  # delivery reports leave the queue by a poll
                    producer.poll(0.05)
                producer.poll(0)
                ahead = self.sent / self._rate - (time.monotonic() - began)
                if self.ended.wait(max(0.0, ahead)):
                    break
        producer.flush(30)


def soak(settings: Settings, minutes: float, flush: int) -> tuple[list[Sample], int]:
    """Run it: what was seen each second, and how many records were sent."""
    from tests.servers.s3 import VersityGateway

    server = VersityGateway()
    found: list[Sample] = []
    try:
        bootstrap = broker.ensure_running(settings.folder / "broker", port=0).bootstrap_servers
        try:
            make(bootstrap, TOPIC)
            bucket = server.bucket()
            config = {
                **bucket.config,
                "name": "soak",
                "connector.class": "S3Sink",
                "topics": TOPIC,
                "tasks.max": "1",
                "partitioner.class": "field",
                "partition.field.name": "folder",
                "s3.compression.type": "gzip",
                "flush.size": str(flush),
                "s3.memory.bytes": str(MEMORY_MIB << 20),
                "value.converter": "org.apache.kafka.connect.json.JsonConverter",
                "value.converter.schemas.enable": "false",
                "consumer.override.auto.offset.reset": "earliest",
            }
            filler = Filler(bootstrap, RATE)
            with worker("ours", bootstrap, settings.folder / "worker", config, WORKER) as pid:
                filler.start()
                began = time.monotonic()
                place = server.data / bucket.name
                while (now := time.monotonic() - began) < minutes * 60:
                    objects = sum(1 for each in place.rglob("soak+*") if ".sgwtmp" not in each.parts)
                    found.append(Sample(now, sum(tree.pss(each.pid) for each in tree.tree(pid)) / 1e6, objects))
                    time.sleep(1)
                filler.ended.set()
            filler.join(60)
            if not found[-1].objects:
                raise MeasurementFailed(f"no object was written: {end_of_log(settings.folder / 'worker' / 'log')}")
            say(f"{filler.sent:,} records, {found[-1].objects:,} objects")
        finally:
            broker.stop(settings.folder / "broker")
    finally:
        server.close()
    return found, filler.sent


def measure(settings: Settings) -> dict[str, Any]:
    """What memory did in the second half: by then all files are open."""
    from tests.servers.s3 import VERSITYGW

    minutes, flush = (0.75, 100) if settings.quick else (MINUTES, 2000)
    samples, sent = soak(settings, minutes, flush)
    half = [each.memory for each in samples[len(samples) // 2 :]]
    rows = Rows({})
    least, most = min(half), max(half)
    figures = {"least_mb": least, "most_mb": most, "median_mb": statistics.median(half), "spread": most / least}
    rows.add("memory", "ours", {**figures, "records": sent, "objects": samples[-1].objects, "minutes": minutes})
    every = -(-len(samples) // _SAMPLES)
    return {
        "settings": {"rounds": 1, "minutes": minutes, "folders": FOLDERS, "rate": RATE, "memory_mib": MEMORY_MIB},
        "versions": {"versitygw": VERSITYGW, **versions("boto3", "connect-runtime", "confluent-kafka")},
        "rows": rows.as_json(),
        "samples": [[round(each.at, 1), round(each.memory, 1), each.objects] for each in samples[::every]],
    }


def table(document: dict[str, Any]) -> str:
    """The document as Markdown."""
    found = document["rows"]["memory"]["ours"]["median"]
    held = bar_of(judge(document), "memory/ours/median/spread")
    cells = [
        f"{document['settings']['minutes']:g}",
        f"{found['objects']:,.0f}",
        f"{found['least_mb']:.0f}",
        f"{found['most_mb']:.0f}",
        marked(f"{found['spread']:.2f}", held) + (f" ({held.bar})" if held else ""),
    ]
    return markdown([["minutes", "objects", "least in the second half, MB", "most, MB", "most to least (bar)"], cells])


def pictures(document: dict[str, Any]) -> dict[str, str]:
    """The picture of a document that has samples, by its path."""
    if "samples" not in document:
        return {}
    settings = document["settings"]
    title = (
        f"{settings['folders']} open files, {settings['rate']:,} records a second, "
        f"s3.memory.bytes {settings['memory_mib']} MiB"
    )
    return {PICTURE: picture([Sample(*each) for each in document["samples"]], title)}


def picture(samples: list[Sample], title: str) -> str:
    """An SVG of 720 by 300: memory as a line, objects as a thin one."""
    width, height, left, top = 640, 210, 60, 50
    longest = samples[-1].at
    most = max(100.0, max(each.memory for each in samples) * 1.2)
    objects = max(1, samples[-1].objects)

    def line(of: list[float], high: float, colour: str) -> str:
        points = zip((each.at for each in samples), of, strict=True)
        drawn = " ".join(f"{left + x / longest * width:.1f},{top + height - y / high * height:.1f}" for x, y in points)
        return f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{drawn}"/>'

    def text(x: float, y: float, said: str, more: str = "") -> str:
        return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{said}</text>'

    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 300" font-family="sans-serif" font-size="11">',
        '<rect width="720" height="300" fill="#fff"/>',
        text(left, 20, title, 'font-size="14"'),
        text(left, 38, "memory, MB", 'fill="#06c"'),
        text(left + 90, 38, f"objects, up to {objects:,}", 'fill="#c60"'),
    ]
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = top + height * (1 - share)
        parts.append(f'<path d="M{left} {y:.1f}h{width}" stroke="#ddd"/>')
        parts.append(text(left - 6, y + 4, f"{most * share:.0f}", 'text-anchor="end"'))
    parts += [
        line([each.objects for each in samples], objects, "#c60"),
        line([each.memory for each in samples], most, "#06c"),
        text(left, top + height + 18, "0"),
        text(left + width, top + height + 18, f"{longest / 60:.0f} min", 'text-anchor="end"'),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(one.main("bench.s3_soak", "soak"))
