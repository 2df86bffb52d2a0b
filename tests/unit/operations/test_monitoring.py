"""Alerts and dashboard ask for what a worker exposes: each name, each label, and what a label may be."""

import importlib
import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from connect.cli._main import parser_for
from tests.support.exposed import OF_SCRAPES, labels_of, read
from tests.support.monitoring import EXPRESSIONS, PANELS, RULES, dashboard, for_prometheus
from tests.support.promql import Wrong, parse

ROOT = Path(__file__).parents[3]
OPERATIONS = ROOT / "config" / "operations"
PAGE = ROOT / "docs" / "operations.md"
ROWS = ["Overview", "Throughput", "Latency", "Lag", "Errors", "Workers and rebalances"]


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_an_expression_asks_for_what_a_worker_exposes(name: str) -> None:
    assert read(EXPRESSIONS[name]).selectors


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_a_name_or_a_label_that_nobody_exposes_is_found(name: str) -> None:
    """Each expression again, with one of its names changed: so that the test above is known to look at all of them."""
    expression = EXPRESSIONS[name]
    for selector in read(expression).selectors:
        with pytest.raises(Wrong, match="no worker exposes"):
            read(re.sub(rf"\b{selector.metric}\b", f"{selector.metric}s", expression))
        for label, _, _ in selector.matchers:
            with pytest.raises(Wrong, match=f'no label "{label}s"'):
                read(re.sub(rf"\b{label}(?==|!)", f"{label}s", expression))
    for labels in re.findall(r"\b(?:by|on) \(([^)]*)\)", expression):
        with pytest.raises(Wrong, match="has only"):
            read(expression.replace(f"({labels})", f"({labels}, colour)", 1))


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("sum by (connector) (kafka_connect_connect_worker_metrics_task_count)", r"connector.*has only"),
        ("rate(connect_task_state[5m])", "which is a gauge"),
        ("increase(kafka_connect_task_error_metrics_last_error_timestamp[5m])", "which is a gauge"),
        ('connect_task_state{state="broken"}', r'never state="broken"'),
        ('connect_rebalances_total{cause="weather"}', "never cause"),
        ('connect_task_commits_total{outcome="failed"}', "never outcome"),
        ("connect_sink_put_seconds", "no worker exposes"),  # a histogram has _bucket, _sum and _count
        ("histogram_quantile(0.9, sum by (connector) (rate(connect_sink_put_seconds_bucket[5m])))", "has no le"),
        ("sum by (job) (connect_task_stalled) + sum by (connector) (connect_task_stalled)", "never finds a pair"),
        ("connect_task_stalled - on (state) connect_task_stalled", "state.*left side"),
        ("connect_task_stalled connect_task_stalled", "not PromQL"),
        ("rates(connect_sink_bytes_total[5m])", "unknown function"),
        ("connect_task_stalled == 1)", "not PromQL"),
        ("sum(connect_task_stalled", "unclosed"),
        ("connect_task_stalled ; 1", "not PromQL"),
    ],
)
def test_what_is_wrong_with_an_expression_is_named(expression: str, why: str) -> None:
    with pytest.raises(Wrong, match=why):
        read(expression)


def test_labels_of_an_answer() -> None:
    def labels(expression: str) -> set[str]:
        return set(parse(expression, labels_of).labels or ())

    assert labels("up == 0") == OF_SCRAPES
    assert labels("max by (connector) (connect_sink_lag_records) > 3") == {"connector"}
    assert labels("sum without (task, instance) (rate(connect_sink_bytes_total[5m] offset 1h))") == {"connector", "job"}
    info = "connect_task_stalled * on (instance) group_left (version) connect_worker_info"
    assert labels(info) == {"connector", "task", "job", "instance", "version"}
    assert labels('absent(up{job="connect"})') == {"job"}


@pytest.mark.parametrize("name", RULES)
def test_an_alert_says_how_bad_it_is_and_what_to_do(name: str) -> None:
    rule = RULES[name]
    assert re.fullmatch(r"\d+m", rule["for"])
    assert rule["labels"]["severity"] in ("critical", "warning")
    notes = rule["annotations"]
    assert notes.keys() == {"summary", "description", "runbook"}
    assert "Next: " in notes["description"]
    labels = read(rule["expr"]).labels or frozenset()
    named = set(re.findall(r"\$labels\.(\w+)", notes["summary"] + notes["description"]))
    assert named, "it does not say where"
    assert named <= labels
    assert read(rule["expr"]).labels, "Alertmanager could not tell two of them apart"


def test_every_alert_has_a_section_and_every_section_an_alert(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    anchors = importlib.import_module("links").anchors(PAGE)
    for rule in RULES.values():
        page, _, anchor = rule["annotations"]["runbook"].partition("#")
        assert ROOT / page == PAGE
        assert anchor == rule["alert"].lower()
        assert anchor in anchors
    sections = re.findall(r"^### (Connect\w+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sections == list(RULES)


def commands() -> list[str]:
    """Those of the page, and the ones that alerts name, with words in the place of what Prometheus fills in."""
    page = PAGE.read_text(encoding="utf-8")
    spans = re.findall(r"`(connect\s[^`]+)`", page) + re.findall(r"^    (connect .*)$", page, re.MULTILINE)
    notes = [re.sub(r"{{[^}]*}}", "NAME", rule["annotations"]["description"]) for rule in RULES.values()]
    named = [
        found for note in notes for found in re.findall(r"\bconnect [a-z]+(?: NAME| list NAME --group| get NAME)", note)
    ]
    return sorted({" ".join(one.split()) for one in (*spans, *named)})


@pytest.mark.parametrize("command", commands())
def test_a_command_of_the_page_is_one_that_connect_takes(command: str) -> None:
    words = re.sub(r"--task N\b", "--task 0", command).replace("...", "").split()[1:]
    words = [re.sub(r"PARTITION", "0", re.sub(r"OFFSET", "7", word)) for word in words]
    assert parser_for(words).parse_args(words).run


def test_prometheus_scrapes_the_job_that_the_alerts_know() -> None:
    written = yaml.safe_load((OPERATIONS / "prometheus" / "scrape.yaml").read_text(encoding="utf-8"))
    (job,) = written["scrape_configs"]
    assert f'job="{job["job_name"]}"' in RULES["ConnectWorkerDown"]["expr"]
    assert job["metrics_path"] == "/metrics"
    assert all((OPERATIONS / "prometheus" / file).is_file() for file in written["rule_files"])


def test_the_dashboard_belongs_to_no_installation() -> None:
    board = dashboard()
    assert not board.keys() & {"id", "uid", "__inputs", "__requires"}
    variables = {one["name"]: one for one in board["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    assert variables["datasource"]["query"] == "prometheus"
    text = json.dumps(board)
    assert set(re.findall(r'"uid": "([^"]*)"', text)) == {"${datasource}"}
    assert set(re.findall(r"\$\{?([a-z]\w*)", text)) == variables.keys()
    for one in variables.values():
        if one["type"] == "query":
            match = re.fullmatch(r"label_values\((.*), (\w+)\)", one["query"]["query"])
            assert match is not None
            assert match[2] in (read(match[1]).labels or ())


def test_panels_stand_in_their_rows_beside_each_other() -> None:
    panels = dashboard()["panels"]
    assert [panel["title"] for panel in panels if panel["type"] == "row"] == ROWS
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len({panel["title"] for panel in panels}) == len(panels)
    for one, other in combinations((panel["gridPos"] for panel in panels), 2):
        apart = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        assert apart or one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in panels)


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_panel_says_what_it_shows_by_labels_that_there_are(panel: dict[str, Any]) -> None:
    assert panel["description"].endswith(".")
    for target in panel["targets"]:
        labels = read(for_prometheus(target["expr"])).labels or frozenset()
        assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= labels
        # One line of a graph for each series: what tells them apart is in its legend.
        if panel["type"] == "timeseries":
            assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) == labels


def test_there_is_an_alert_for_all_that_the_page_of_metrics_advises() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    advice = re.findall(
        r"^\| `([^`]+)` \|", page.partition("## What to alert on")[2].partition("\n## ")[0], re.MULTILINE
    )
    advised = {selector.metric for expression in advice for selector in read(expression).selectors}
    assert len(advised) >= 8
    assert advised <= {selector.metric for rule in RULES.values() for selector in read(rule["expr"]).selectors}
