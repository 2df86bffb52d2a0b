"""What times are counted from, and in."""

from __future__ import annotations

import datetime as dt
from typing import Final

#: What timestamps are counted from, and dates, by their number among Python's.
EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
EPOCH_DAY: Final = dt.date(1970, 1, 1).toordinal()
DAY_MS: Final = 86_400_000
