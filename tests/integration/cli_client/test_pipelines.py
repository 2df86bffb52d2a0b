"""Folders of connectors against a worker of Java and one of ours: planned, applied, drifted, pruned."""

import json
import re
import uuid
from pathlib import Path

import pytest

from tests.integration.cli_client.conftest import running, states

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[3] / "docs" / "pipelines.md"
TWO = """\
connectors:
- name: ${{ family }}-a
  config:
    connector.class: FileStreamSource
    topic: ${{ family }}-a
    file: ${{ folder }}/in.txt
    batch.size: 100
    transforms: [first]
    transforms.first:
      type: org.apache.kafka.connect.transforms.HoistField$Value
      field: line
- name: ${{ family }}-b
  config: {connector.class: FileStreamSource, topic: "${{ family }}-b", file: "${{ folder }}/in.txt"}
"""


@pytest.fixture
def family():
    """What the names of a test's connectors begin with."""
    return f"p{uuid.uuid4().hex[:6]}"


@pytest.fixture
def folder(connect, family):
    """Two connectors in YAML and one in JSON, whose names and files depend on the environment."""
    pipelines = connect.folder / "pipelines"
    (pipelines / "more").mkdir(parents=True)
    (connect.folder / "in.txt").write_text("one\n")
    (pipelines / "two.yaml").write_text(TWO)
    config = {"connector.class": "FileStreamSource", "topic": family, "file": "${{ folder }}/in.txt"}
    (pipelines / "more" / "c.json").write_text(json.dumps({"name": "${{ family }}-c", "config": config}))
    (pipelines / "test.values.yaml").write_text(f"family: {family}\nfolder: {connect.folder}\n")
    return ["pipelines", "--values", "pipelines/test.values.yaml"]


def test_a_folder_is_planned_applied_and_drift_is_seen(connect, family, folder):
    planned = connect("plan", *folder)
    assert f"{family}-a: create\n" in planned
    assert planned.splitlines()[-1].startswith("3 to create; 0 unchanged, at http")
    assert connect.run("plan", *folder, "--exit-code").returncode == 1
    connect("apply", "-f", *folder, "--yes")
    for name in "abc":
        running(connect, f"{family}-{name}")
    assert connect("plan", *folder, "--exit-code").startswith("Nothing to change; 3 unchanged")
    by_hand = json.loads(connect("get", f"{family}-b", "--json"))
    by_hand["config"]["batch.size"] = "7"
    connect("apply", "-f", connect.write("b.json", by_hand), "--yes")
    assert f"{family}-b: update\n  - batch.size=7\n1 to update; 2 unchanged" in connect("plan", *folder)


def test_what_no_file_has_is_deleted_only_where_its_name_was_asked_for(connect, family, folder):
    connect("apply", "-f", *folder, "--yes")
    (connect.folder / "pipelines" / "more" / "c.json").unlink()
    assert "delete" not in connect("plan", *folder)
    assert "delete" not in connect("plan", *folder, "--prune", "nothing-*")
    assert f"{family}-c: delete\n1 to delete; 2 unchanged" in connect("plan", *folder, "--prune", f"{family}-*")
    assert f"{family}-c deleted" in connect("apply", "-f", *folder, "--prune", f"{family}-*", "--yes")
    connect.until(lambda: states(connect, f"{family}-c") is None)
    assert states(connect, f"{family}-a")


def test_all_that_is_wrong_in_a_folder_is_said_at_once(connect, family, folder):
    (connect.folder / "pipelines" / "wrong.yaml").write_text("name: x\n")
    (connect.folder / "pipelines" / "other.yaml").write_text(
        f"name: {family}-d\nconfig:\n  connector.class: FileStreamSource\n  topic: ${{{{ nowhere }}}}\n"
    )
    said = connect("plan", *folder, code=2)
    assert 'pipelines/wrong.yaml:1: the connector has no "config"' in said
    assert f'pipelines/other.yaml:4: connector "{family}-d", key "topic": ${{{{ nowhere }}}} has no value' in said
    assert connect.run("plan", "nothing-here").returncode == 2


def test_the_files_of_the_page(connect, family):
    """docs/pipelines.md: its folder is tested, planned with the values of an environment, and applied."""
    for name, text in re.findall(r"<!-- file: (\S+) -->\s*```yaml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        (connect.folder / name).parent.mkdir(exist_ok=True)
        (connect.folder / name).write_text(text)
    assert "1 passed" in connect("test", "pipelines")
    words = ["pipelines", "--values", "values/prod.yaml", "--set", f"folder={connect.folder}"]
    assert connect("plan", *words).startswith("prod-archive: create\n  + connector.class=FileStreamSink\n  + file=/")
    words += ["--set", f"stage={family}"]
    connect("apply", "-f", *words, "--yes")
    running(connect, f"{family}-archive")
    assert connect("plan", *words, "--exit-code").startswith("Nothing to change; 1 unchanged")


def test_programs_get_each_action(connect, family, folder):
    found = json.loads(connect("plan", *folder, "--json"))
    assert {(each["name"], each["action"]) for each in found} == {(f"{family}-{name}", "create") for name in "abc"}
    assert {each["file"] for each in found} == {"pipelines/two.yaml", "pipelines/more/c.json"}
    assert json.loads(connect("plan", "--schema"))["title"].startswith("Connectors")
