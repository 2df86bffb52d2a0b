"""The tap of a task's process: shows records of its chain to its worker, masked, while somebody looks."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from connect.pipeline import Chain
from connect.pipeline.outcome import SeenOutcome
from connect.pipeline.tap import Tap
from connect.pipeline.tap_masks import FieldMasks
from connect.settings.worker_keys import TapOptions
from connect.worker import messages
from connect.worker.control import Control
from connect.worker.said import TAPPED_SIZE


def tap_chain(chain: Chain, control: Control, options: TapOptions) -> None:
    """Let the worker look at records of this chain."""
    tap, masks = Tap(), FieldMasks(options.masks)
    chain.tap = tap

    def report_to(question: int) -> Callable[[SeenOutcome], None]:
        def report(seen: SeenOutcome) -> None:
            record = msgspec.json.encode(masks.masked(seen))
            if len(record) > TAPPED_SIZE:
                control.send(messages.Tapped(question, error="A record is too large to be shown."))
            else:
                control.send(messages.Tapped(question, record))

        return report

    control.open_tap = lambda asked: tap.open(asked.records, asked.seconds, report_to(asked.question))


def no_tap(control: Control, engine: str) -> None:
    """The chain of this task runs outside of its process."""
    why = f"It shows no records: its converters and transformations run in engine {engine}, not in its process."
    control.open_tap = lambda asked: control.send(messages.Tapped(asked.question, error=why))
