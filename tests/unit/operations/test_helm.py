"""The Helm chart: what it makes runs a worker as a worker wants to be run.

That Helm makes what is kept in `rendered`, and that Kubernetes takes it, is tested with their programs in
tests/integration/operations.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from connect import __version__
from connect.cli._main import parser_for
from connect.cli._pool_worker import check_pool_worker
from connect.cli._problems import Problems
from connect.cli._worker_files import WorkerFile, read_worker
from connect.herder.listeners import advertised, parse_listeners
from connect.settings.worker_keys import DISTRIBUTED
from rest.root import router
from tests.support.chart import CHART, NAMESPACE, ROOT, SETS, objects, rendered
from tests.support.exposed import read

FILE = "/etc/connect/worker.properties"
#: Where objects select pods.
SELECTORS = {"PodDisruptionBudget": "selector", "NetworkPolicy": "podSelector"}
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))


class Made:
    """What Helm makes with one set of values."""

    def __init__(self, name: str) -> None:
        self.objects = objects(name)
        self.stateful = self.objects["StatefulSet", "pool"]["spec"]
        self.pod = self.stateful["template"]["spec"]
        (self.container,) = self.pod["containers"]
        self.labels = self.stateful["template"]["metadata"]["labels"]

    @property
    def worker_file(self) -> str:
        text: str = self.objects["ConfigMap", "pool"]["data"]["worker.properties"]
        return text

    def environment(self, number: int = 0) -> dict[str, str]:
        """The variables of one pod; of a secret, a text that stands for it."""
        found = {"POD_NAME": f"pool-{number}", "POD_NAMESPACE": NAMESPACE}
        for each in self.container["env"]:
            if "value" in each:
                found[each["name"]] = re.sub(r"\$\((\w+)\)", lambda match: found[match[1]], each["value"])
            elif "secretKeyRef" in each["valueFrom"]:
                found[each["name"]] = f"secret {each['name']}"
        return found


@pytest.fixture(params=SETS)
def made(request: pytest.FixtureRequest) -> Made:
    return Made(request.param)


@pytest.fixture
def worker(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WorkerFile:
    """The file as the first pod's worker reads it, without an error or a warning."""
    for name, value in made.environment().items():
        monkeypatch.setenv(name, value)
    path = tmp_path / "worker.properties"
    path.write_text(made.worker_file)
    problems = Problems([str(path)])
    found = read_worker(str(path), problems, DISTRIBUTED)
    assert found is not None
    check_pool_worker(found, problems)
    assert [str(problem) for problem in (*problems.errors(), *problems.warnings())] == []
    return found


def test_the_chart_has_our_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert chart["name"] == CHART.name
    assert str(chart["appVersion"]) == str(chart["version"]) == __version__


def test_a_pod_runs_a_command_that_connect_takes(made: Made) -> None:
    assert '\nENTRYPOINT ["connect"]\n' in (ROOT / "Dockerfile").read_text(encoding="utf-8")
    args = parser_for(made.container["args"]).parse_args(made.container["args"])
    assert args.run.__module__ == "connect.cli.distributed"
    assert args.worker == FILE
    mounts = {each["mountPath"]: each for each in made.container["volumeMounts"]}
    assert mounts["/etc/connect"]["readOnly"] is True


def test_probes_ask_what_a_worker_answers(made: Made, worker: WorkerFile) -> None:
    (listener,) = parse_listeners(worker.config["listeners"])
    (port,) = made.container["ports"]
    assert port["containerPort"] == listener.port
    known = {getattr(route, "path", "") for route in router.routes}
    asked = {kind: made.container[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")}
    assert all(each["port"] == port["name"] and each["path"] in known for each in asked.values())
    assert {each["scheme"] for each in asked.values()} == {listener.scheme.upper()}
    # A worker whose brokers are away is not restarted for it.
    assert asked["startup"]["path"] == asked["liveness"]["path"] == "/health/live"
    assert asked["readiness"]["path"] == "/health/ready"


def test_a_number_is_written_as_workers_read_it() -> None:
    """Helm takes numbers for floating point: a million would be 1e+06, which is no whole number to a worker."""
    assert "\nproducer.buffer.memory=67108864\n" in Made("everything").worker_file


def test_a_worker_comes_back_under_the_name_that_others_know(made: Made, worker: WorkerFile) -> None:
    headless = made.objects["Service", made.stateful["serviceName"]]["spec"]
    assert headless["clusterIP"] == "None"
    assert headless["publishNotReadyAddresses"] is True
    assert headless["selector"].items() <= made.labels.items()
    host = f"pool-0.{made.stateful['serviceName']}.{NAMESPACE}.svc"
    assert advertised(worker.raw).host == host
    assert made.environment(2)["CONNECT_HOST"] == host.replace("pool-0", "pool-2")
    # One after the other, and each has the time that a stop takes.
    assert made.stateful["updateStrategy"] == {"type": "RollingUpdate"}
    graceful = worker.config["task.shutdown.graceful.timeout.ms"] / 1000
    assert made.pod["terminationGracePeriodSeconds"] >= graceful + 10


@pytest.mark.parametrize("name", SETS)
def test_a_changed_file_restarts_the_workers(name: str) -> None:
    """The pods' annotation is the sum of the document with the file, labels and all: a new version changes it too."""
    of_file = "# Source: connect-runtime/templates/workers-file.yaml\n"
    (document,) = (
        text.removeprefix(of_file)
        for text in re.split(r"^---\n", rendered(name).read_text(encoding="utf-8"), flags=re.MULTILINE)
        if text.startswith(of_file)
    )
    annotations = Made(name).stateful["template"]["metadata"]["annotations"]
    # The last document ends with one empty line more.
    expected = hashlib.sha256(f"{document.rstrip()}\n".encode()).hexdigest()
    assert annotations["checksum/worker.properties"] == expected


def test_what_selects_pods_finds_those_of_the_release_and_no_others(made: Made) -> None:
    selectors = [made.stateful["selector"]["matchLabels"]]
    selectors += [made.objects[kind, "pool"]["spec"][key]["matchLabels"] for kind, key in SELECTORS.items()]
    selectors += [made.objects["Service", name]["spec"]["selector"] for name in ("pool", "pool-workers")]
    for selector in selectors:
        assert selector == {"app.kubernetes.io/name": "connect-runtime", "app.kubernetes.io/instance": "pool"}
        assert selector.items() <= made.labels.items()


def test_a_pod_may_do_what_a_worker_has_to_and_no_more(made: Made) -> None:
    context = made.pod["securityContext"]
    assert context["runAsNonRoot"] is True
    assert f"\nUSER {context['runAsUser']}:{context['runAsGroup']}\n" in (ROOT / "Dockerfile").read_text(
        encoding="utf-8"
    )
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    assert made.container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert made.pod["automountServiceAccountToken"] is False
    # Where it writes: caches of its user, and what connectors keep for a moment.
    written = {each["mountPath"] for each in made.container["volumeMounts"] if not each.get("readOnly")}
    assert written == {"/tmp", made.environment()["HOME"]}
    assert "cpu" not in made.container["resources"]["limits"], "throttled heartbeats lose the group"
    assert made.pod["shareProcessNamespace"] is True


def test_workers_reach_each_other_and_only_who_is_named_reaches_them(made: Made) -> None:
    (rule,) = made.objects["NetworkPolicy", "pool"]["spec"]["ingress"]
    own, *others = rule["from"]
    assert own["podSelector"]["matchLabels"].items() <= made.labels.items()
    assert len(others) == (1 if "ScaledObject" in {kind for kind, _ in made.objects} else 0)


def test_one_worker_at_a_time_is_taken_away(made: Made) -> None:
    budget = made.objects["PodDisruptionBudget", "pool"]["spec"]
    assert budget["maxUnavailable"] == 1
    assert budget["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


def test_secrets_come_from_the_secret_and_stand_nowhere(made: Made, worker: WorkerFile) -> None:
    secrets = {each["name"] for each in made.container["env"] if "secretKeyRef" in each.get("valueFrom", {})}
    allowed = re.compile(worker.raw["config.providers.env.param.allowlist.pattern"])
    assert {name for name in [*made.environment(), "PATH", "XPOSTGRES_PASSWORD"] if allowed.fullmatch(name)} == {
        *secrets,
        "CONNECT_HOST",
    }
    assert "Secret" not in {kind for kind, _ in made.objects}
    for name in secrets:
        assert f"secret {name}" not in made.worker_file
    if secrets:
        assert "secret KAFKA_PASSWORD" in worker.raw["sasl.jaas.config"]


def test_the_number_of_workers_is_left_to_whoever_scales() -> None:
    assert Made("least").stateful["replicas"] == VALUES["replicas"]
    assert "ScaledObject" not in {kind for kind, _ in Made("least").objects}
    made = Made("everything")
    assert "replicas" not in made.stateful
    scaled = made.objects["ScaledObject", "pool"]["spec"]
    assert scaled["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "pool"}
    assert scaled["minReplicaCount"] == VALUES["replicas"] < scaled["maxReplicaCount"]


def test_scaling_asks_for_what_a_worker_exposes() -> None:
    made = Made("everything")
    (trigger,) = made.objects["ScaledObject", "pool"]["spec"]["triggers"]
    assert trigger["type"] == "prometheus"
    (selector,) = read(trigger["metadata"]["query"]).selectors
    assert ("connector", "=~", "orders-.*") in selector.matchers
    (endpoint,) = made.objects["PodMonitor", "pool"]["spec"]["podMetricsEndpoints"]
    job = {each["replacement"] for each in endpoint["relabelings"] if each["targetLabel"] == "job"}
    assert {("job", "=", name) for name in job} <= set(selector.matchers)
    assert endpoint["path"] == "/metrics"
    assert f"\n    listeners={endpoint['scheme']}://" in rendered("everything").read_text(encoding="utf-8")
    assert "ca" in endpoint["tlsConfig"]
    assert endpoint["port"] == made.container["ports"][0]["name"]
    # Without an answer of Prometheus nothing is taken away.
    assert trigger["metadata"]["ignoreNullValues"] == "false"


def test_every_value_is_described_and_checked() -> None:
    """A value stands in values.yaml with a comment, and in the schema, which refuses any other."""
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    assert schema["properties"].keys() == {*VALUES, "global"}
    for name, value in VALUES.items():
        inner = schema["properties"][name].get("properties")
        if isinstance(value, dict) and inner is not None:
            assert inner.keys() == value.keys(), name
            assert schema["properties"][name]["additionalProperties"] is False
