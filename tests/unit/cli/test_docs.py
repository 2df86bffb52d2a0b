"""The pages that `connect docs` shows, and what leads to them."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from connect.cli import main
from connect.cli.docs import found, pages

ROOT = Path(__file__).parents[3]


def shown(capsys, *words):
    assert main(["docs", *words]) == 0
    return capsys.readouterr().out


def test_every_page_has_a_name_of_its_own_and_a_title(capsys):
    names = [page.name for page in pages()]
    assert len(set(names)) == len(names)
    lines = shown(capsys).splitlines()
    assert lines[0].split() == ["PAGE", "TITLE"]
    assert [line.split()[0] for line in lines[1:]] == names
    assert {one["page"] for one in json.loads(shown(capsys, "--json"))} == set(names)


@pytest.mark.parametrize(
    ("topic", "page"),
    [
        ("s3-sink", "s3-sink"),
        ("connectors/S3-sink.md", "s3-sink"),
        ("FileStreamSource", "file"),
        ("org.apache.kafka.connect.file.FileStreamSinkConnector", "file"),
        ("io.confluent.connect.s3.S3SinkConnector", "s3-sink"),
        ("SparkSink", "delta"),
    ],
)
def test_a_page_is_found_by_its_name_and_by_a_connector(topic, page, capsys):
    path = ROOT / "docs" / "connectors" / f"{page}.md"
    assert shown(capsys, topic) == path.read_text(encoding="utf-8")
    assert shown(capsys, topic, "--path") == f"{path}\n"


def test_other_words_are_looked_for_in_all_pages(capsys):
    text = shown(capsys, "flush.size")
    assert "s3-sink: Objects: the S3 sink\n  " in text
    assert re.search(r"^  \.\.\. and [1-9][0-9]* more$", text, re.MULTILINE)
    (first, *_) = json.loads(shown(capsys, "flush.size", "--json"))
    lines = Path(first["path"]).read_text(encoding="utf-8").splitlines()
    assert first["lines"]
    assert all(lines[int(number) - 1].strip() == line for number, line in first["lines"].items())
    assert shown(capsys, "dead", "letters") == shown(capsys, "dead letters")


@pytest.mark.parametrize("words", [["no such words at all"], ["no such page", "--path"]])
def test_what_is_nowhere_is_said(words, capsys):
    assert main(["docs", *words]) == 1
    assert "connect docs lists them." in capsys.readouterr().err


def test_whatever_says_connect_docs_leads_to_a_page():
    """The files of config/ and the messages travel without a checkout; their way to a page is this command."""
    packages = ("connect", "connectors", "rest", "spark_sink", "transforms")
    sources = [path for path in ROOT.glob("config/**/*") if path.is_file()]
    sources += [path for package in packages for path in (ROOT / package).rglob("*.py")]
    known, named = pages(), []
    for path in sources:
        if path.name != "docs.py":
            text = path.read_text(encoding="utf-8")
            named += [(path, name) for name in re.findall(r"connect docs ([a-z0-9][a-z0-9-]*)", text)]
    assert len(named) > 15
    assert [(path, name) for path, name in named if found(known, name) is None] == []
    files = [
        path.read_text(encoding="utf-8") for path in ROOT.glob("config/**/*") if path.suffix != ".md" and path.is_file()
    ]
    assert [line for text in files for line in text.splitlines() if "docs/" in line and "runbook:" not in line] == []


def test_the_readme_has_every_extra():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    table = (ROOT / "README.md").read_text().partition("| extra |")[2].partition("\n\n")[0]
    named = {name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1]) if "|" in row}
    assert named == extras.keys()
