"""Pipelines as files: folders of connectors in YAML, JSON and properties, with values that differ by environment.

A YAML file is one connector, or several under `connectors`:

    name: orders                      connectors:
    initial_state: PAUSED               - name: orders-in
    config:                               config: {..}
      connector.class: FileStreamSink   - name: orders-out
      topics: [orders, returns]           config: {..}

In `config` a list is joined with commas, and a mapping adds to the key: `consumer.override: {max.poll.records: 5}` is
`consumer.override.max.poll.records=5`. `${{ name }}` stands for a value of the environment (`Values`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, get_args

from connect.cli._problems import Problems
from connect.cli._yaml import Node, YamlError, read_yaml
from connect.errors import ConfigError
from connect.settings.connector_files import ConnectorFile, InitialState, load_connector
from connect.settings.properties import ConfigFileError, read_bytes

_YAML: Final = (".yaml", ".yml")
_FORMATS: Final = (*_YAML, ".json", ".properties")
_CASES: Final = (".test.yaml", ".test.yml")
_STDIN: Final = "/dev/stdin"
#: What begins a line of YAML, and neither one of JSON nor one of properties: it has no name that would say so.
_YAML_KEY: Final = re.compile(rb"^(?:config|connectors):(?:\s|$)", re.MULTILINE)
_ONE: Final = frozenset({"name", "config", "initial_state"})
#: Kafka's own variables have a colon: ${file:/etc/secrets:password}.
_PLACEHOLDER: Final = re.compile(r"\$\{\{([^{}]*+)\}\}")
_FROM_ENVIRONMENT: Final = "env."


@dataclass(frozen=True)
class Values:
    """The values of placeholders.

    Attributes:
        files: that have them, in YAML: names with values. They are not connectors.
        by_name: the values; `env.NAME` is a variable of this process's environment and need not be here.
        option: of the command, that gives the value of one `{name}`.
    """

    files: tuple[str, ...] = ()
    by_name: Mapping[str, str] = field(default_factory=dict, repr=False)
    option: str = "--values FILE or --set {name}=VALUE"

    @classmethod
    def of(cls, files: Sequence[str], assignments: Sequence[str]) -> Values:
        """Read them.

        Args:
            files: later ones replace values of earlier ones.
            assignments: NAME=VALUE, which replace those of files.

        Raises:
            YamlError: a file is not names with values.
            ConfigError: an assignment has no `=`.
        """
        found: dict[str, str] = {}
        for path in files:
            for name, node in read_yaml(path).mapping("A file of values").items():
                # Nothing at all is an empty text; null written as a word is no value.
                if isinstance(node.value, dict | list | bytes) or (node.value is None and node.source):
                    node.wrong(f'the value of "{name}" is a text, a number, true or false.')
                found[name] = node.source
        for each in assignments:
            name, equals, value = each.partition("=")
            if not equals:
                raise ConfigError("--set", f'"{each}" is not NAME=VALUE.')
            found[name] = value
        return cls(tuple(files), found)

    def fill(self, file: ConnectorFile, problems: Problems) -> ConnectorFile:
        """The connector with values for its placeholders. Those without a value stay, and are added to `problems`."""
        unknown: list[tuple[str, str]] = []

        def value(key: str, placeholder: re.Match[str]) -> str:
            name = placeholder[1].strip()
            if name.startswith(_FROM_ENVIRONMENT):
                found = os.environ.get(name.removeprefix(_FROM_ENVIRONMENT))
            else:
                found = self.by_name.get(name)
            if found is None:
                unknown.append((key, name))
                return placeholder[0]
            return found

        config = {
            key: _PLACEHOLDER.sub(lambda match, key=key: value(key, match), text)  # type: ignore[misc]
            for key, text in file.config.items()
        }
        for key, name in unknown:
            problems.unknown(file.where(key), self._missing(name), key=key, connector=config["name"])
        return replace(file, name=config["name"], config=config)

    def _missing(self, name: str) -> str:
        if name.startswith(_FROM_ENVIRONMENT):
            return f"${{{{ {name} }}}} has no value: the environment has no {name.removeprefix(_FROM_ENVIRONMENT)}."
        return f"${{{{ {name} }}}} has no value. Give it by {self.option.format(name=name)}."


def found_in(paths: Sequence[str], values: Values) -> Iterator[str]:
    """Files as they are, and all connector files in folders, recursively, by name.

    Hidden files, `*.test.yaml` (cases of `connect test`) and the files of values are not connectors.
    """
    for path in paths:
        if path == "-" or not Path(path).is_dir():
            yield path
            continue
        others = {Path(each).resolve() for each in values.files}
        for each in sorted(Path(path).rglob("*")):
            hidden = any(part.startswith(".") for part in each.relative_to(path).parts)
            if hidden or not each.name.endswith(_FORMATS) or each.name.endswith(_CASES) or each.resolve() in others:
                continue
            yield str(each)


def is_yaml(path: str) -> bool:
    """Whether a file is YAML, by its name."""
    return path.endswith(_YAML)


def load_pipelines(path: str, values: Values, problems: Problems) -> list[ConnectorFile]:
    """The connectors of one file, which may be `-`.

    Raises:
        ConfigFileError: the file cannot be read, is broken, or names no connector.
        YamlError: likewise, in YAML.
    """
    files, in_yaml = _load(path)
    return [_filled(file, in_yaml, values, problems) for file in files]


def _filled(file: ConnectorFile, in_yaml: bool, values: Values, problems: Problems) -> ConnectorFile:
    # In the other forms, which Kafka Connect reads too, such a text may be meant as it is.
    return values.fill(file, problems) if in_yaml or values.files or values.by_name else file


def _load(path: str) -> tuple[list[ConnectorFile], bool]:
    """The connectors of a file as they are written, and whether it is YAML."""
    if is_yaml(path):
        return load_yaml(path), True
    if path != "-":
        return [load_connector(path)], False
    data = read_bytes(_STDIN, ConfigFileError)
    return (load_yaml(_STDIN, data), True) if _YAML_KEY.search(data) else ([load_connector(_STDIN, data)], False)


def load_yaml(path: str, data: bytes | None = None) -> list[ConnectorFile]:
    """The connectors of a YAML file, with their placeholders. `data` is its content, if known. Raises `YamlError`."""
    top = read_yaml(path, data)
    keys = top.mapping("A connector")
    if "connectors" not in keys:
        return [_connector(top)]
    for key, node in keys.items():
        if key != "connectors":
            node.wrong(f'"{key}" is not known beside "connectors".')
    listed = keys["connectors"]
    if not isinstance(listed.value, list) or not listed.value:
        listed.wrong('"connectors" is a list with at least one connector.')
    return [_connector(node) for node in listed.value]


def _connector(node: Node) -> ConnectorFile:
    keys = node.mapping("A connector")
    for key, one in keys.items():
        if key not in _ONE:
            one.wrong(f'"{key}" is not known here. A connector has a name, a config and maybe an initial_state.')
    for key in ("name", "config"):
        if key not in keys:
            node.wrong(f'the connector has no "{key}".')
    name = keys["name"]
    if isinstance(name.value, dict | list | bytes | None) or not name.source:
        name.wrong('"name" is a text.')
    config, lines = {"name": name.source}, {"name": name.line}
    for key, value, line in _flat("", keys["config"]):
        if key == "name" and value != name.source:
            raise YamlError(f'{node.file}:{line}: the "name" in "config" differs from the one beside it.')
        if key in config and key != "name":
            raise YamlError(f'{node.file}:{line}: "{key}" stands on line {lines[key]} too; keep one of them.')
        config[key], lines[key] = value, line
    state = keys.get("initial_state")
    if state is not None and state.source.upper() not in get_args(InitialState):
        state.wrong('"initial_state" is RUNNING, PAUSED or STOPPED.')
    initial: InitialState | None = state.source.upper() if state is not None else None  # type: ignore[assignment]
    return ConnectorFile(name.source, config, initial, node.file, {}, lines)


def _flat(prefix: str, node: Node) -> Iterator[tuple[str, str, int]]:
    """Keys with their values as texts, and their lines. A key with the value null is not set."""
    for key, one in node.mapping("config").items():
        name = f"{prefix}{key}"
        if isinstance(one.value, dict):
            yield from _flat(f"{name}.", one)
        elif isinstance(one.value, list):
            yield name, ",".join(_text(each, name) for each in one.value), one.line
        elif one.value is not None:
            yield name, _text(one, name), one.line


def _text(node: Node, key: str) -> str:
    if isinstance(node.value, bool):
        return str(node.value).lower()
    if isinstance(node.value, dict | list | bytes) or node.value is None:
        node.wrong(f'a part of "{key}" is not a text, a number, true or false.')
    return node.source


def single(
    path: str,
    values: Values | None = None,
    problems: Problems | None = None,
    changes: Mapping[str, str] | None = None,
) -> ConnectorFile:
    """The one connector of a file in any form. Raises as `load_pipelines`.

    Args:
        path: the file.
        values: for its placeholders, which stay without this.
        problems: take placeholders that have no value.
        changes: other values of keys; placeholders of what they replace need none.
    """
    found, in_yaml = _load(path)
    if len(found) > 1:
        raise ConfigFileError(f"{path}: has {len(found)} connectors, and one is needed here.")
    file = replace(found[0], config={**found[0].config, **(changes or {})})
    return file if values is None else _filled(file, in_yaml, values, problems or Problems([path]))
