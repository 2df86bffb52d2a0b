"""The Helm chart of config/operations, and what Helm makes of it with two sets of values."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).parents[2]
CHART: Final = ROOT / "config" / "operations" / "helm" / "connect-runtime"
RENDERED: Final = ROOT / "tests" / "unit" / "operations" / "rendered"
#: The sets of values: each has a file NAME.values.yaml, and NAME.yaml with what Helm makes of it.
SETS: Final = ("least", "everything")
RELEASE: Final = "pool"
NAMESPACE: Final = "data"


def values_of(name: str) -> Path:
    """The file with a set of values."""
    return RENDERED / f"{name}.values.yaml"


def rendered(name: str) -> Path:
    """What Helm makes of it, as it is kept in git."""
    return RENDERED / f"{name}.yaml"


def arguments(name: str) -> list[str | Path]:
    """Those of `helm` that make it."""
    return ["template", RELEASE, CHART, "--namespace", NAMESPACE, "--values", values_of(name)]


def objects(name: str) -> dict[tuple[str, str], dict[str, Any]]:
    """The objects of Kubernetes in it, by kind and name."""
    found = yaml.safe_load_all(rendered(name).read_text(encoding="utf-8"))
    return {(each["kind"], each["metadata"]["name"]): each for each in found}
