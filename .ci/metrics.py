"""Writes the tables of docs/metrics.md from the catalogue of metrics. A test holds that they are as it would write.

.ci/metrics.py          write them
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from connect.telemetry.catalogue import KAFKA, OURS

PAGE = Path(__file__).parent.parent / "docs" / "metrics.md"
BEGIN, END = "<!-- made by .ci/metrics.py -->", "<!-- end of what is made -->"


def tables() -> str:
    """All metrics, by group."""
    lines: list[str] = []
    for group, metrics in groupby(KAFKA, lambda metric: metric.group):
        bean, _, tag = group.partition(",")
        found = list(metrics)
        labels = ", ".join(label.replace("-", "_") for label in found[0].labels) or "none"
        name = found[0].prometheus().removesuffix(found[0].name.replace("-", "_"))
        lines += ["", f"### {bean}{f', by {tag}' if tag else ''}", "", f"`{name}...`, labels: {labels}", ""]
        lines += ["| JMX | kind | what it is |", "|---|---|---|"]
        lines += [f"| `{metric.name}` | {metric.kind} | {metric.doc} |" for metric in found]
    lines += ["", "### Only here", "", "| name | kind | labels | what it is |", "|---|---|---|---|"]
    lines += [f"| `{one.name}` | {one.kind} | {', '.join(one.labels)} | {one.doc} |" for one in OURS]
    return "\n".join(lines).strip() + "\n"


def with_tables(page: str) -> str:
    """A page with these tables in the place of those that it has."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
