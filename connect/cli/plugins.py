"""`connect plugins list`: the plug-ins that a worker would find, without importing any."""

import argparse
import sys
from pathlib import Path

import msgspec

from connect.plugins import PluginKind, PluginRef, Plugins

NAME = "plugins"
HELP = "List the connectors, transformations and converters that are installed."


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="every plug-in, by kind", description=HELP)
    listing.add_argument(
        "--plugin-path", metavar="FOLDERS", default="", help="as plugin.path of the worker: separated by commas"
    )
    listing.add_argument("--json", action="store_true", help="for programs")


def run(args: argparse.Namespace) -> int:
    """Print the table. Returns the exit code."""
    folders = [Path(folder.strip()) for folder in args.plugin_path.split(",") if folder.strip()]
    for folder in folders:
        if not folder.is_dir():
            print(f"connect: plugin path {folder}: there is no such folder.", file=sys.stderr)
            return 2
    found = Plugins.discover(folders).all()
    print(_json(found) if args.json else _table(found))
    return 0


def _json(found: list[PluginRef]) -> str:
    return msgspec.json.format(msgspec.json.encode(found), indent=2).decode()


def _table(found: list[PluginRef]) -> str:
    lines: list[str] = []
    for kind in PluginKind:
        refs = [ref for ref in found if ref.kind is kind]
        if refs:
            lines += ["", kind.value.replace("_", " ")]
        width = max((len(ref.aliases[-1]) for ref in refs), default=0)
        for ref in refs:
            place = f"  ({ref.folder})" if ref.folder else ""
            lines.append(f"  {ref.aliases[-1]:{width}}  {ref.name}  {ref.version or '-'}{place}")
    return "\n".join(lines[1:])
