"""Every snippet on our pages works: code compiles, files are valid, commands are taken.

What a page shows in full is also run, by a test of that page; here nothing is left out. A block without a language is
output, or has commands, which are found by how they begin.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import sqlglot
import yaml

from connect.cli._main import parser_for
from connect.cli._problems import Problems
from connect.cli._validation import Validator, validator
from connect.cli._worker_files import read_any_worker
from connect.settings import properties
from connectors.jdbc.changes.signals import signal
from rest.app import describe_interface
from tests.support.snippets import ROOT, Snippet, snippets, spans, words

ALL = list(snippets())
COMMANDS = {f"{each.page}:{line}": command for each in ALL for line, command in each.commands()}
WORKER = {
    "bootstrap.servers": "localhost:9092",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "offset.storage.file.filename": "/tmp/offsets",
    "config.providers": "env",
    "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
}
#: What the keys of a snippet that is no whole connector are added to.
SINK = {"connector.class": "FileStreamSink", "topics": "orders", "file": "/tmp/out", "exactly.once": "false"}
BESIDE: Mapping[str, Mapping[str, str]] = {
    "docs/topic-creation.md": {"connector.class": "FileStreamSource", "topic": "lines", "file": "/tmp/in"},
    "docs/schema-evolution.md": {
        "connector.class": "io.confluent.connect.s3.S3SinkConnector",
        "topics": "orders",
        "s3.bucket.name": "orders",
        "format.class": "avro",
    },
    "docs/connectors/spark-source.md": {"connector.class": "SparkSource", "topic": "rows"},
}
#: Connectors that a page makes or brings; tests of these pages run them.
OF_PAGES = {"ClockSource", "WebhookSink", "io.debezium.connector.jdbc.JdbcSinkConnector"}
#: Errors about this machine, not about the snippet.
HERE = re.compile(r"cannot be reached|[Nn]o such file|does not exist|cannot be read|no Java|is not installed")


def of(*languages: str) -> list[Snippet]:
    return [each for each in ALL if each.language in languages]


def by_name(snippet: Snippet) -> str:
    return snippet.name


def files() -> Iterator[tuple[Snippet, dict[str, str]]]:
    """Every snippet that is a file of keys, or a part of one; also those that a shell writes."""
    for each in ALL:
        written = [match[1] for match in re.finditer(r"<<'END'\n(.*?)^END$", each.text, re.MULTILINE | re.DOTALL)]
        lines = [line for line in each.text.splitlines() if line.strip() and not line.startswith("#")]
        # An example of a transformation shows what it makes of a value: that is no file.
        if each.language == "properties" or (
            each.language == "indented" and all(re.match(r"[a-z][\w.]*=(?!.*->)", line) for line in lines)
        ):
            written.append(each.text)
        for text in written:
            if "=" in text and not text.startswith("import "):
                yield each, dict(properties.loads(text))
        if each.language == "json":
            read: dict[str, Any] = json.loads(each.text)
            if "connector.class" in read.get("config", read):
                yield each, {"name": read.get("name", ""), **read.get("config", read)}


FILES = list(files())
CONNECTORS = [(each, config) for each, config in FILES if "connector.class" in config]
WORKERS = [(each, config) for each, config in FILES if "bootstrap.servers" in config]
PARTS = [one for one in FILES if one not in CONNECTORS and one not in WORKERS]


@pytest.fixture(scope="module")
def validating(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Validator]:
    with validator(worker(tmp_path_factory.mktemp("worker"), WORKER)) as found:
        yield found


def worker(folder: Path, keys: Mapping[str, str]) -> Any:
    path = folder / "worker.properties"
    path.write_text(properties.dumps(keys))
    problems = Problems([str(path)])
    found = read_any_worker(str(path), problems)
    said = [str(problem) for problem in problems.errors() if not HERE.search(str(problem))]
    said += [str(problem) for problem in problems.warnings() if "is not known" in str(problem)]
    assert said == []
    no_comments(keys)
    return found


def no_comments(keys: Mapping[str, str]) -> None:
    """In a file of properties a comment behind a value is a part of it."""
    assert [key for key, value in keys.items() if re.search(r"\s#\s", value)] == []


def test_every_language_is_looked_at() -> None:
    known = {"python", "json", "yaml", "toml", "properties", "sh", "console", "sql", "", "indented"}
    assert {each.language for each in ALL} == known
    assert len(CONNECTORS) > 40
    assert len(WORKERS) > 5


@pytest.mark.parametrize("snippet", of("sql"), ids=by_name)
def test_statements_are_understood_and_so_are_their_signals(snippet: Snippet) -> None:
    for statement in sqlglot.parse(snippet.text, dialect="mysql" if "mysql" in snippet.name else "postgres"):
        assert statement is not None
        texts = [literal.this for literal in statement.find_all(sqlglot.exp.Literal) if literal.is_string]
        for kind, data in pairwise(texts):
            if kind.endswith("-snapshot"):
                signal(kind, data)


@pytest.mark.parametrize("snippet", of("python"), ids=by_name)
def test_python_compiles(snippet: Snippet) -> None:
    compile(snippet.text, snippet.name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.mark.parametrize("snippet", of("json", "yaml", "toml"), ids=by_name)
def test_a_document_is_read(snippet: Snippet) -> None:
    reads = {"json": json.loads, "yaml": lambda text: list(yaml.safe_load_all(text)), "toml": tomllib.loads}
    read = reads[snippet.language](snippet.text)
    assert read or all(line.startswith("#") for line in snippet.text.splitlines())


@pytest.mark.parametrize(("snippet", "config"), CONNECTORS, ids=[each.name for each, _ in CONNECTORS])
def test_a_connector_is_valid(snippet: Snippet, config: dict[str, str], validating: Validator) -> None:
    assert config["name"]
    if config["connector.class"] not in OF_PAGES and config.get("connector.language") != "java":
        valid(config, validating)


@pytest.mark.parametrize(("snippet", "keys"), WORKERS, ids=[each.name for each, _ in WORKERS])
def test_a_workers_file_is_valid(snippet: Snippet, keys: dict[str, str], tmp_path: Path) -> None:
    worker(tmp_path, keys)


@pytest.mark.parametrize(("snippet", "keys"), PARTS, ids=[each.name for each, _ in PARTS])
def test_a_part_of_a_file_is_valid(
    snippet: Snippet, keys: dict[str, str], validating: Validator, tmp_path: Path
) -> None:
    """A block that is indented belongs into a worker's file, any other into a connector's."""
    if snippet.language == "indented":
        worker(tmp_path, {**WORKER, **keys})
    else:
        valid({"name": "a", **BESIDE.get(snippet.page, SINK), **keys}, validating)


def valid(config: dict[str, str], validating: Validator) -> None:
    """Every key is known and every value right, as far as that can be said without the systems it names."""
    # What a variable stands for is of the machine where it is.
    filled = {key: re.sub(r"\$\{\w+:[^}]*\}", "secret", value) for key, value in config.items()}
    found = validating.validate(filled)
    assert [error for error in found.errors() if not HERE.search(error[1])] == []
    assert [warning for warning in found.warnings if "is not known" in warning[1]] == []
    no_comments(filled)
    if "Spark" in filled.get("connector.class", "") and (query := filled.get("query")):
        assert sqlglot.parse_one(query, dialect="spark") is not None


@pytest.mark.parametrize("place", [place for place, command in COMMANDS.items() if re.match(r"connect [a-z]", command)])
def test_a_command_is_taken(place: str) -> None:
    _, *given = words(COMMANDS[place])
    assert parser_for(given).parse_args(given).run


@pytest.mark.parametrize("span", sorted({span for _, span in spans() if re.match(r"connect [a-z]+( |$)", span)}))
def test_a_command_that_is_named_has_these_options(span: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In a sentence a command may have words that stand for something: its name and its options are right."""
    named = re.split(r"[ =|\\\[\]()]+", span)[1:]
    # What stands for something ends the name of the command.
    given = [*takewhile(lambda word: re.fullmatch(r"[a-z]+", word), named), "--help"]
    parser = parser_for(given)
    with pytest.raises(SystemExit) as ended:
        parser.parse_args(given)
    assert ended.value.code == 0, capsys.readouterr().err
    helped = capsys.readouterr().out
    assert [word for word in named if word.startswith("-") and not re.search(rf"{word}\b", helped)] == []


@pytest.mark.parametrize("place", [place for place, command in COMMANDS.items() if "localhost:8083" in command])
def test_a_request_is_one_of_the_rest_api(place: str) -> None:
    found = words(COMMANDS[place])
    assert found[0] == "curl"
    method = found[found.index("-X") + 1] if "-X" in found else "GET"
    (url,) = [word for word in found if "localhost:8083" in word]
    path = urlsplit(url if "//" in url else f"//{url}").path
    fitting = [
        operations
        for described, operations in describe_interface()["paths"].items()
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", described), path)
    ]
    assert any(method.lower() in operations for operations in fitting)
    if "-d" in found and not (body := found[found.index("-d") + 1]).startswith("@"):
        assert json.loads(body)


@pytest.mark.parametrize("place", [place for place, command in COMMANDS.items() if command.startswith("pip install")])
def test_what_is_installed_can_be(place: str) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    asked = {
        extra for names in re.findall(r"connect-runtime\[([^]]+)\]", COMMANDS[place]) for extra in names.split(",")
    }
    assert asked <= extras.keys()


@pytest.mark.parametrize("place", [place for place, command in COMMANDS.items() if command.startswith("make ")])
def test_what_is_made_can_be(place: str) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert words(COMMANDS[place])[1] in targets


@pytest.mark.parametrize("place", [place for place, command in COMMANDS.items() if command.startswith("python -m ")])
def test_a_module_that_is_run_is_there(place: str) -> None:
    assert importlib.util.find_spec(words(COMMANDS[place])[2]) is not None
