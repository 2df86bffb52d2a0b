"""The alerts and the dashboard of config/operations, and all expressions in them."""

import json
import re
from pathlib import Path
from typing import Any, Final

import yaml

OPERATIONS: Final = Path(__file__).parents[2] / "config" / "operations"


def rules() -> list[dict[str, Any]]:
    written = yaml.safe_load((OPERATIONS / "prometheus" / "alerts.yaml").read_text(encoding="utf-8"))
    return [rule for group in written["groups"] for rule in group["rules"]]


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((OPERATIONS / "grafana" / "connect.json").read_text(encoding="utf-8"))
    return found


def for_prometheus(expression: str) -> str:
    """With a duration in the place of Grafana's own variables."""
    return re.sub(r"\$__\w+|\$\{__\w+\}", "5m", expression)


RULES: Final = {rule["alert"]: rule for rule in rules()}
PANELS: Final = [panel for panel in dashboard()["panels"] if panel["type"] != "row"]
EXPRESSIONS: Final = {
    **{name: rule["expr"] for name, rule in RULES.items()},
    **{
        f"{panel['title']} {target['refId']}": for_prometheus(target["expr"])
        for panel in PANELS
        for target in panel["targets"]
    },
    **{one["name"]: for_prometheus(one["expr"]) for one in dashboard()["annotations"]["list"]},
}
