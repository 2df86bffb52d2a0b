"""The files of `connect test`: a connector's configuration, and cases of records with the expected results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from connect.cli._pipeline_files import single
from connect.cli._pipelines import Pipeline, WorkerSettings, open_pipeline
from connect.cli._yaml import Node, YamlError, read_yaml
from connect.data.record import Record
from connect.pipeline import cases
from connect.pipeline.samples import Kind, SampleError, sample
from connect.pipeline.trial import Trial
from connect.plugins import Plugins
from connect.settings.properties import ConfigFileError, load
from connect.settings.raw import comma_separated

_TOP: Final = ("config", "worker", "kind", "match", "cases")
_OF_CASE: Final = ("name", "records", "expected", "dropped", "error", "match", "config")


@dataclass(frozen=True, slots=True)
class Case:
    """One case.

    Attributes:
        file, line: where it begins.
        records: as written.
        expected: for each record; its form was checked.
    """

    name: str
    file: str
    line: int
    records: list[Node]
    expected: list[Node]
    overrides: dict[str, Node]

    @property
    def place(self) -> str:
        """FILE:LINE."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Wrong:
    """One line of a failed case, and the position of the expectation."""

    line: int
    message: str


class CaseFile:
    """One file, read and checked. Its pipeline is created again for each case, so that cases are independent.

    Args:
        path: of the file. Other files that it names are relative to it.
        worker: a worker's file, for all that name none.

    Raises:
        YamlError: its content is invalid.
        WrongConfigError: the worker's configuration is wrong.
    """

    def __init__(self, path: str, worker: str | None = None) -> None:
        self.path = path
        top = read_yaml(path)
        keys = _only(top, "a file of cases", _TOP)
        for needed in ("config", "cases"):
            if needed not in keys:
                top.wrong(f'"{needed}" is missing. A file of cases has a config and cases.')
        self._kind = self._read_kind(keys.get("kind"))
        self._match = keys.get("match")
        self._config, self._places = self._read_config(keys["config"])
        self._worker = self._read_worker(keys.get("worker"), worker)
        beside = Path(path).parent if "worker" in keys else Path()
        folders = comma_separated(self._worker.values.get("plugin.path"))
        self._plugins = Plugins.discover([beside / folder for folder in folders])
        if not isinstance(keys["cases"].value, list) or not keys["cases"].value:
            keys["cases"].wrong("cases are a list with at least one.")
        self.cases = [self._case(node) for node in keys["cases"].value]

    def run(self, case: Case) -> list[Wrong]:
        """Run one case. Returns unmet expectations; nothing when it passes. Raises as the constructor does."""
        pipeline = self._pipeline(case)
        trial = Trial(pipeline.chain, pipeline.dead_letters)
        wrong: list[Wrong] = []
        try:
            records = [self._record(pipeline, node, number) for number, node in enumerate(case.records)]
            for number, (record, expected) in enumerate(zip(records, case.expected, strict=True), 1):
                outcome = trial.run(record)
                about = f"record {number}: " if len(records) > 1 else ""
                found = cases.problems(expected.plain(), outcome)
                wrong += [Wrong(_line(expected, problem.path), f"{about}{problem}") for problem in found]
        finally:
            trial.close()
        return wrong

    def _pipeline(self, case: Case) -> Pipeline:
        kept = {key: text for key, text in self._config.items() if key not in case.overrides}
        config = {**kept, **_texts(case.overrides)}
        places = {**self._places, **{key: node.place for key, node in case.overrides.items()}}
        return open_pipeline(
            config, self._worker, lambda key: places.get(key, self._places[""]), self._kind, self._plugins
        )

    def _record(self, pipeline: Pipeline, node: Node, number: int) -> Record:
        try:
            return sample(pipeline.kind, node.plain(), pipeline.topic, number)
        except SampleError as error:
            node.at(tuple(error.field.split("."))).wrong(str(error))

    # Reading.

    def _read_kind(self, node: Node | None) -> Kind | None:
        if node is None:
            return None
        if node.value not in ("sink", "source"):
            node.wrong("kind is sink or source.")
        kind: Kind = node.value
        return kind

    def _read_config(self, node: Node) -> tuple[dict[str, str], dict[str, str]]:
        """The connector's keys, and the position of each; "" is where others could be added."""
        if isinstance(node.value, dict):
            return _texts(node.value), {"": node.place, **{key: one.place for key, one in node.value.items()}}
        path = self._beside(node, "config")
        try:
            file = single(path)
        except (ConfigFileError, YamlError) as error:
            node.wrong(str(error))
        return file.config, {"": str(file.where("name")), **{key: str(file.where(key)) for key in file.config}}

    def _read_worker(self, node: Node | None, default: str | None) -> WorkerSettings:
        if node is None:
            return WorkerSettings.read(default)
        if isinstance(node.value, dict):
            keys = node.value
            return WorkerSettings.of(_texts(keys), lambda key: keys[key].place if key in keys else node.place)
        path = self._beside(node, "worker")
        try:
            load(path)
        except ConfigFileError as error:
            node.wrong(str(error))
        return WorkerSettings.read(path)

    def _beside(self, node: Node, what: str) -> str:
        if not isinstance(node.value, str):
            node.wrong(f"{what} is the path of a file, or keys and values.")
        return str(Path(self.path).parent / node.value)

    def _case(self, node: Node) -> Case:
        keys = _only(node, "a case", _OF_CASE)
        name = keys["name"].source if "name" in keys else f"case in line {node.line}"
        if "records" not in keys:
            node.wrong('"records" is missing: the record, or the list of records, that the case is about.')
        records = keys["records"].items()
        given = [key for key in ("expected", "dropped", "error") if key in keys]
        if len(given) != 1:
            node.wrong('say what is expected: one of "expected", "dropped" and "error".')
        if given == ["expected"]:
            expected = keys["expected"].items()
            if len(expected) != len(records):
                counts = f"{len(records)} records and {len(expected)} expectations"
                keys["expected"].wrong(f"there are {counts}. Each record has its own; one that goes is dropped: true.")
        else:
            alone = Node({given[0]: keys[given[0]]}, keys[given[0]].file, keys[given[0]].line)
            expected = [alone] * len(records)
        match = keys.get("match", self._match)
        expected = [self._expected(one, match) for one in expected]
        overrides = keys["config"].mapping("config of a case") if "config" in keys else {}
        _texts(overrides)
        return Case(name, node.file, node.line, records, expected, overrides)

    def _expected(self, node: Node, match: Node | None) -> Node:
        if isinstance(node.value, dict) and match is not None and "match" not in node.value:
            node = Node({**node.value, "match": match}, node.file, node.line)
        try:
            cases.check_form(node.plain())
        except cases.ExpectationError as error:
            node.at(error.path).wrong(str(error))
        return node


def _only(node: Node, what: str, known: tuple[str, ...]) -> dict[str, Node]:
    keys = node.mapping(what)
    for key, one in keys.items():
        if key not in known:
            one.wrong(f'"{key}" is not known in {what}; known are {", ".join(known)}.')
    return keys


def _texts(keys: Mapping[str, Node]) -> dict[str, str]:
    """Keys of a configuration, their values as they are written: 1.50 stays 1.50. Null is not set."""
    for node in keys.values():
        if isinstance(node.value, dict | list):
            node.wrong("the value of a configuration's key is text.")
    return {key: node.source for key, node in keys.items() if node.value is not None}


def _line(expected: Node, path: str) -> int:
    """The line that a problem is about, as far as the file shows it."""
    node = expected
    for key in _keys(path):
        if isinstance(node.value, list) and key.isdecimal() and int(key) < len(node.value):
            node = node.value[int(key)]
        elif isinstance(node.value, dict) and key in node.value:
            node = node.value[key]
        else:
            break
    return node.line


def _keys(path: str) -> Iterator[str]:
    yield from (key for key in path.replace("[", ".").replace("]", "").split(".") if key)
