"""A schema whose records are numbered."""

import json

NUMBERED = json.dumps(
    {
        "type": "record",
        "name": "numbered",
        "fields": [
            {"name": "number", "type": {"type": "long", "arg.properties": {"iteration": {"start": 0}}}},
            {"name": "text", "type": {"type": "string", "arg.properties": {"regex": "[a-z]{6}"}}},
        ],
    }
)
