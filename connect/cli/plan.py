"""`connect plan`: what `connect apply` would change, and where a cluster has drifted from its files."""

from __future__ import annotations

import argparse
import json

from connect.cli._connectors import print_json
from connect.cli._exit import FAILED, OK
from connect.cli._files import FORMS, add_values, invalid, warn
from connect.cli._plans import add_prune, counted, plans, show
from connect.cli._rest_client import add_options, client_of

HELP = f"""\
Show what connector files would change in a cluster, and change nothing: connectors to create, update and delete, with
the keys that differ. What somebody changed by hand is shown as a difference, too.
{FORMS}

examples:
  connect plan pipelines/                          all files of a folder
  connect plan pipelines/ --values prod.yaml       with the values of one environment
  connect plan pipelines/ --prune 'orders-*'       also what is deleted: orders-* that no file has
  connect plan pipelines/ --exit-code              for CI: exit code 1 when there is a difference
  connect apply -f pipelines/ --values prod.yaml   do it
  connect plan --schema > pipelines.schema.json    the JSON Schema of YAML files, for editors

pipelines/orders.yaml:
  name: orders
  config:
    connector.class: FileStreamSink
    topics: [orders, returns]
    file: ${{{{ folder }}}}/orders.txt
    consumer.override:
      max.poll.records: 100

prod.yaml:
  folder: /data/prod"""

_STRING = {"type": "string"}
_SCALAR = {"type": ["string", "number", "boolean"]}
#: Of YAML files (JSON Schema, draft 2020-12).
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Connectors for connect plan and connect apply",
    "oneOf": [
        {"$ref": "#/$defs/connector"},
        {
            "type": "object",
            "properties": {
                "connectors": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/connector"}},
            },
            "required": ["connectors"],
            "additionalProperties": False,
        },
    ],
    "$defs": {
        "connector": {
            "type": "object",
            "properties": {
                "name": {"type": ["string", "number"], "description": "The connector's name."},
                "initial_state": {
                    "enum": ["RUNNING", "PAUSED", "STOPPED"],
                    "description": "Has an effect when the connector is created.",
                },
                "config": {
                    "$ref": "#/$defs/config",
                    "properties": {"connector.class": {**_STRING, "description": "The plug-in."}},
                },
            },
            "required": ["name", "config"],
            "additionalProperties": False,
        },
        "config": {
            "type": "object",
            "description": "Keys of the connector. A list is joined with commas; a mapping adds to the key.",
            "additionalProperties": {
                "anyOf": [
                    {"type": ["string", "number", "boolean", "null"]},
                    {"type": "array", "items": _SCALAR},
                    {"$ref": "#/$defs/config"},
                ]
            },
        },
    },
}


class _PrintSchema(argparse.Action):
    """Prints the schema and ends, like --version: no file is needed then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(json.dumps(SCHEMA, indent=2))
        parser.exit()


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("files", metavar="FILE", nargs="+", help="connectors, or folders of them")
    add_values(parser)
    add_prune(parser)
    parser.add_argument("--exit-code", action="store_true", help="exit code 1 when there is a difference")
    parser.add_argument("--schema", nargs=0, action=_PrintSchema, help="print the JSON Schema of YAML files, and end")
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Compare, and show."""
    client = client_of(args)
    found, problems = plans(client, args)
    warn(problems)
    if problems.errors():
        return invalid(problems, "nothing was compared" if not found else "this cannot be applied")
    differing = [plan for plan in found if plan.action != "unchanged"]
    if args.json:
        print_json([plan.for_programs() for plan in found])
    else:
        show(differing)
        same = len(found) - len(differing)
        print(f"{counted(differing) or 'Nothing to change'}; {same} unchanged, at {client.address}.")
    return FAILED if differing and args.exit_code else OK
