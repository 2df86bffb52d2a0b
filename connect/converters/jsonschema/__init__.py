"""JsonSchemaConverter, which reads and writes what Confluent's `io.confluent.connect.json.JsonSchemaConverter` does.

- `documents`: schemas and what they refer to. `to_schema`, `reading`: JSON Schema to Connect.
- `to_json_schema`, `writing`: Connect to JSON Schema. `validation`: whether a record fits its schema.
"""

from connect.converters.jsonschema.converter import JsonSchemaConverter

__all__ = ["JsonSchemaConverter"]
