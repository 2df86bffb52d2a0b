"""`python -m bench.s3_soak`: 200 open files of one task, for as long as wanted, and its memory all the while.

Records of about 200 bytes go into 200 folders by a field, in lines of JSON in gzip, into Versity's S3 gateway on this
machine. Memory is that of the worker's whole process tree, looked at each second, each shared page divided among those
who share it. The picture is an SVG: memory over time, and the objects that were written until then.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

from bench import tree
from bench.jdbc import worker
from bench.machine import introduce, say
from bench.s3 import row
from connect.kafka.broker import ensure_running
from connect.kafka.broker import stop as stop_broker
from tests.servers.s3 import VersityGateway

FOLDERS = 200
TOPIC = "soak"
_ROUND = 20_000


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


def soak(minutes: float, rate: int, flush: int, memory: int) -> list[Sample]:
    """Run it, and what was seen each second."""
    from confluent_kafka.admin import AdminClient, NewTopic

    server = VersityGateway()
    found: list[Sample] = []
    try:
        with tempfile.TemporaryDirectory(prefix="connect-soak-") as name:
            folder = Path(name)
            broker = ensure_running(folder / "broker", port=0)
            try:
                admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
                admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result(30)
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
                    "s3.memory.bytes": str(memory),
                    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
                    "value.converter.schemas.enable": "false",
                    "consumer.override.auto.offset.reset": "earliest",
                }
                filler = Filler(broker.bootstrap_servers, rate)
                with worker("ours", broker.bootstrap_servers, folder / "worker", config) as pid:
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
                    raise RuntimeError((folder / "worker" / "log").read_text(encoding="utf-8")[-3000:])
                say(f"{filler.sent:,} records, {found[-1].objects:,} objects")
            finally:
                stop_broker(folder / "broker")
    finally:
        server.close()
    return found


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


def main() -> None:
    """Soak, say what memory did, and draw it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60, help="how long (default: 60)")
    parser.add_argument("--rate", type=int, default=20_000, help="records a second (default: 20000)")
    parser.add_argument("--flush", type=int, default=1_000_000, help="flush.size (default: 1000000)")
    parser.add_argument("--memory", type=int, default=128 << 20, help="s3.memory.bytes (default: 128 MiB)")
    parser.add_argument("--svg", type=Path, help="draw it there")
    args = parser.parse_args()
    introduce()
    samples = soak(args.minutes, args.rate, args.flush, args.memory)
    half = [each.memory for each in samples[len(samples) // 2 :]]
    print(f"memory: {min(half):.0f} to {max(half):.0f} MB in the second half, {samples[-1].objects:,} objects")
    if args.svg:
        title = f"{FOLDERS} open files, {args.rate:,} records a second, s3.memory.bytes {args.memory >> 20} MiB"
        args.svg.write_text(picture(samples, title), encoding="utf-8")


if __name__ == "__main__":
    main()
