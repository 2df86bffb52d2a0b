"""Connector files for a running cluster: read, compared with stored configurations, validated there."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Mapping, Sequence

from connect.cli import _secrets
from connect.cli._diff import with_stored
from connect.cli._exit import INVALID
from connect.cli._pipeline_files import Values, found_in, is_yaml, load_pipelines
from connect.cli._problems import Problems
from connect.cli._rest_client import AnswerError, RestClient
from connect.cli._yaml import YamlError
from connect.errors import ConfigError
from connect.settings.connector_files import ConnectorFile
from connect.settings.properties import ConfigFileError
from connect.telemetry.redaction import MASK

FORMS = """\
A FILE is one connector: properties, or JSON in any form that Kafka Connect reads or writes; or YAML with one connector
or several. A folder stands for all such files in it. - is standard input. ${{ name }} in YAML stands for a value by
--values or --set, ${{ env.NAME }} for a variable of the environment; with --values or --set also in other files."""


def add_files(parser: argparse.ArgumentParser) -> None:
    """Declare -f, once or repeatedly, each with one file or more; and values for placeholders in them."""
    parser.add_argument(
        "-f",
        "--file",
        dest="files",
        action="extend",
        nargs="+",
        required=True,
        metavar="FILE",
        help="connectors, or folders of them",
    )
    add_values(parser)


def add_values(parser: argparse.ArgumentParser) -> None:
    """Declare --values and --set."""
    parser.add_argument(
        "--values", action="append", default=[], metavar="FILE", help="a YAML file with values for placeholders"
    )
    parser.add_argument(
        "--set", dest="assignments", action="append", default=[], metavar="NAME=VALUE", help="one such value"
    )


def read_files(args: argparse.Namespace) -> tuple[list[ConnectorFile], Problems]:
    """Read the connectors of `args.files`. Unreadable ones are left out; the problems say why.

    Raises:
        YamlError: a file of values is wrong.
        ConfigError: --set is wrong, or there is no connector file at all.
    """
    return read_paths(args.files, Values.of(args.values, args.assignments))


def read_paths(named: Sequence[str], values: Values) -> tuple[list[ConnectorFile], Problems]:
    """As `read_files`, of these files and folders."""
    paths = list(dict.fromkeys(found_in(named, values)))  # a file may be named beside its folder
    if not paths:
        raise ConfigError("FILE", f"{', '.join(named)} has no connector files (.yaml, .json, .properties).")
    problems = Problems(paths)
    found: dict[str, ConnectorFile] = {}
    for path in paths:
        try:
            files = load_pipelines(path, values, problems)
        except (ConfigFileError, YamlError) as error:
            problems.unusable(path, error)
            continue
        for file in files:
            _taken(file, found, problems)
    return list(found.values()), problems


def _taken(file: ConnectorFile, found: dict[str, ConnectorFile], problems: Problems) -> None:
    _secrets.remember(file.config)
    for key, places in file.duplicates.items():
        message = f"stands on line {places[0].line} too, and only this last one counts."
        problems.warn(places[-1], message, key=key, connector=file.name)
    if other := found.get(file.name):
        message = f"{other.where('name')} has this name already. Give one of the two connectors another."
        problems.error(file.where("name"), message, key="name", connector=file.name)
    found[file.name] = file


def stored(client: RestClient, name: str) -> dict[str, str] | None:
    """The stored configuration, None if the cluster has no such connector."""
    try:
        config: dict[str, str] = client.get("connectors", name, "config")
    except AnswerError as error:
        if error.status == 404:
            return None
        raise
    return config


def to_send(file: ConnectorFile, before: Mapping[str, str] | None, problems: Problems) -> dict[str, str]:
    """The file's configuration with stored values in place of masks."""
    try:
        return with_stored(file.config, before or {})
    except KeyError as error:
        (key,) = error.args
        message = (
            f"{MASK} stands for a secret that the cluster has, and it has none here. Write it, or a ${{variable}}."
        )
        problems.error(file.where(key), message, key=key, connector=file.name)
        return file.config


def check(client: RestClient, file: ConnectorFile, config: Mapping[str, str], problems: Problems) -> set[str]:
    """Have the cluster validate what would be sent for a file.

    Returns:
        The keys that are declared as PASSWORD.
    """
    plugin = config.get("connector.class")
    if not plugin:
        message = "is missing. Name the connector's plug-in."
        problems.error(file.where("connector.class"), message, key="connector.class", connector=file.name)
        return set()
    try:
        answer = client.put("connector-plugins", plugin, "config", "validate", body=dict(config))
    except AnswerError as error:
        # Java's workers say in many words that they lack a class, but all can list what they have.
        if plugin not in error.said:
            raise
        classes = [entry["class"] for entry in client.get("connector-plugins")]
        if any(plugin in _names(name) for name in classes):
            raise
        where = file.where("connector.class")
        problems.error(where, _unknown(plugin, classes), key="connector.class", connector=file.name)
        return set()
    # A key that is wrong and that nobody declares has no definition.
    definitions = [entry["definition"] for entry in answer["configs"] if entry["definition"]]
    secret = {definition["name"] for definition in definitions if definition["type"] == "PASSWORD"}
    _secrets.remember(config, secret)
    for entry in answer["configs"]:
        key = entry["value"]["name"]
        for message in entry["value"]["errors"]:
            problems.error(file.where(key), " ".join(message.split()), key=key, connector=file.name)
    for warning in answer.get("warnings", ()):  # a worker of Java has none
        problems.warn(file.where(warning["name"]), warning["message"], key=warning["name"], connector=file.name)
    if is_yaml(file.path):  # made to be kept with others, in a repository
        declared = {definition["name"] for definition in definitions}
        named = {key for key in config if key not in declared and _secrets.is_named_one(key)}
        for key in sorted((secret | named) & config.keys()):
            if config[key] and "${" not in config[key] and MASK not in config[key]:
                # Begun otherwise, the message itself would be taken for the value of sasl.jaas.config, and hidden.
                message = "it is a secret in clear text. Write a variable that the worker resolves: ${file:PATH:KEY}."
                problems.warn(file.where(key), message, key=key, connector=file.name)
    return secret


def warn(problems: Problems) -> None:
    """Warn about what may not be intended."""
    for text in problems.warnings():
        print(f"warning: {text}", file=sys.stderr)


def invalid(problems: Problems, outcome: str) -> int:
    """Report errors, and what was not done because of them. Returns the exit code."""
    errors = problems.errors()
    for text in errors:
        print(text, file=sys.stderr)
    print(f"connect: {len(errors)} error{'s' if len(errors) > 1 else ''}; {outcome}.", file=sys.stderr)
    return INVALID


def _names(name: str) -> set[str]:
    """The names of a class: FileStreamSource is org.apache.kafka.connect.file.FileStreamSourceConnector."""
    simple = name.rpartition(".")[2]
    return {name, simple, simple.removesuffix("Connector")}


def _unknown(plugin: str, classes: Sequence[str]) -> str:
    by_name = {short: name.rpartition(".")[2] for name in classes for short in _names(name)}
    near = dict.fromkeys(by_name[short] for short in difflib.get_close_matches(plugin, by_name, 6, 0.5))
    has = ", ".join(near or sorted(set(by_name.values()))) or "no plug-ins at all"
    return f"the cluster has no {plugin}. It has {has}."
