"""The tasks: each reads some URLs, one request at a time."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Final

from connect import SourceBatch, SourceTask
from connect.kit import RateLimit, RetryBudget
from connect.kit.failures import origin
from connectors.http.connection import made_client
from connectors.http.source.keys import SourceOptions
from connectors.http.source.positions import Position, partitions
from connectors.http.source.reading import Reading

_WAIT_S: Final = 0.9
_SLICE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 60.0


class HttpSourceTask(SourceTask):
    """Reads URLs, each when it is due. Values are the JSON, without a schema."""

    settings = SourceOptions.definition()

    def start(self, config: Mapping[str, str]) -> None:
        options = SourceOptions.parse(config)
        urls: list[str] = json.loads(options.work) if options.work else list(options.urls)
        named = partitions(options.urls)
        stored = self.context.offsets([named[url] for url in urls])
        self._readings: list[Reading] = []
        limits: dict[str, RateLimit] = {}  # a server does not care which of its URLs is asked
        for url, offset in zip(urls, stored, strict=True):
            budget = RetryBudget(options.retries, options.backoff, longest=_LONGEST_PAUSE_S, waits_for=origin(url))
            client = made_client(
                options,
                url,
                config,
                self.context.metrics,
                limits=limits.setdefault(origin(url), RateLimit(options.per_second)),
                retries=budget,
                stopping=self.context.stopping,
                most_bytes=options.most_bytes,
            )
            self.context.exit_stack.callback(client.close)
            initial = options.initial if options.offset_field else None
            self._readings.append(Reading(url, options, client, Position.of(offset, initial, url), named[url]))

    def poll(self) -> SourceBatch | None:
        until = time.monotonic() + _WAIT_S
        while not self.context.stopping():
            now = time.monotonic()
            if due := [reading for reading in self._readings if reading.due <= now]:
                reading = min(due, key=lambda each: each.looked)
                reading.looked = now
                return reading.next()
            if now >= until:
                return None
            time.sleep(min(_SLICE_S, max(0.001, min(reading.due for reading in self._readings) - now)))
        return None
