"""A function for `foreach.batch`, for which executors need more memory than there is, once."""

from pathlib import Path
from typing import Any


def take(rows: Any, batch: int, context: Any) -> None:
    """Write the batch; the first time of all its executors end before."""
    marker = Path(rows.sparkSession.conf.get("spark.hungry.marker"))
    if not marker.exists():
        marker.touch()
        rows.selectExpr("length(repeat(cast(_offset AS string), 1000000000)) AS much").collect()
    context.write(rows)
