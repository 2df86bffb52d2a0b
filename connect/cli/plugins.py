"""`connect plugins`: what is installed here, without importing it, or on a running cluster, and its settings."""

import argparse
import sys
import textwrap
from pathlib import Path
from typing import Any

import msgspec

from connect.cli._connectors import print_json
from connect.cli._exit import INVALID, OK
from connect.cli._rest_client import add_options, client_of
from connect.cli._table import plain, table
from connect.plugins import PluginKind, PluginRef, Plugins
from connect.settings.raw import comma_separated

HELP = """\
List the connectors, transformations and converters that are installed, and show their settings.

examples:
  connect plugins list                                   what a worker on this machine would find
  connect plugins list --plugin-path /opt/connectors     with the folders of plugin.path
  connect plugins list --url http://worker1:8083         what a running worker has
  connect plugins describe FileStreamSinkConnector       the settings of a plug-in, from a running worker"""

_WIDTH = 100


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = parser.add_subparsers(metavar="ACTION", title="actions", required=True)
    raw = argparse.RawDescriptionHelpFormatter
    listing = actions.add_parser("list", help="every plug-in, by kind", description=HELP, formatter_class=raw)
    listing.set_defaults(action=_list)
    listing.add_argument(
        "--plugin-path", metavar="FOLDERS", default="", help="as plugin.path of the worker: separated by commas"
    )
    describe = actions.add_parser("describe", help="the settings of one", description=HELP, formatter_class=raw)
    describe.set_defaults(action=_describe)
    describe.add_argument("plugin", metavar="CLASS", help="its class or alias")
    describe.add_argument("--version", metavar="RANGE", help="as connector.plugin.version: 1.2.3 or [1.2,2.0)")
    for action in (listing, describe):
        action.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)
    add_options(listing, default="none: what is installed here")
    add_options(describe)


def run(args: argparse.Namespace) -> int:
    """Print what was requested. Returns the exit code."""
    code: int = args.action(args)
    return code


def _list(args: argparse.Namespace) -> int:
    if args.url:
        found = client_of(args).get("connector-plugins", connectorsOnly="false")
        if args.json:
            print_json(found)
        else:
            rows = sorted((one["type"], one["class"], one.get("version") or "-") for one in found)
            print(table(["KIND", "CLASS", "VERSION"], rows))
        return OK
    folders = [Path(folder) for folder in comma_separated(args.plugin_path)]
    for folder in folders:
        if not folder.is_dir():
            print(f"connect: plugin path {folder}: there is no such folder.", file=sys.stderr)
            return INVALID
    plugins = Plugins.discover(folders)
    installed = plugins.all()
    for text in (*plugins.unreadable, *plugins.damaged):
        print(f"warning: could not read {text}", file=sys.stderr)
    print(_json(installed) if args.json else _by_kind(installed))
    return OK


def _describe(args: argparse.Namespace) -> int:
    version = {"version": args.version} if args.version else {}
    settings = client_of(args).get("connector-plugins", args.plugin, "config", **version)
    if args.json:
        print_json(settings)
        return OK
    for setting in sorted(settings, key=lambda one: (not one["required"], one["name"])):
        default = "required" if setting["required"] else f"default: {_default(setting)}"
        print(f"{setting['name']}  ({setting['type'].lower()}, {setting['importance'].lower()}, {default})")
        said = plain(setting["documentation"] or "")
        print(textwrap.fill(said, _WIDTH, initial_indent="    ", subsequent_indent="    "))
    return OK


def _default(setting: dict[str, Any]) -> str:
    value = setting["default_value"]
    return "none" if value is None else plain(str(value)) or '""'


def _json(found: list[PluginRef]) -> str:
    return msgspec.json.format(msgspec.json.encode(found), indent=2).decode()


def _by_kind(found: list[PluginRef]) -> str:
    lines: list[str] = []
    for kind in PluginKind:
        refs = [ref for ref in found if ref.kind is kind]
        if refs:
            lines += ["", kind.value.replace("_", " ")]
        width = max((len(ref.aliases[-1]) for ref in refs), default=0)
        for ref in refs:
            language = "Java, " if ref.language == "java" else ""
            where = f"  ({language}{ref.folder})" if ref.folder else ""
            lines.append(f"  {ref.aliases[-1]:{width}}  {ref.name}  {ref.version or '-'}{where}")
    return "\n".join(lines[1:])
