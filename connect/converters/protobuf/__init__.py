"""ProtobufConverter, which reads and writes what Confluent's `io.confluent.connect.protobuf.ProtobufConverter` does.

- `descriptors`: the text of a schema to descriptors; `well_known`: what it imports without a reference.
- `to_schema`, `reading`: Protobuf to Connect. `to_proto`, `writing`: Connect to Protobuf.
- `indexes`: which message of its schema a record is.
"""

try:
    from connect.converters.protobuf.converter import ProtobufConverter
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] not in ("google", "grpc_tools"):
        raise
    raise ModuleNotFoundError(
        "ProtobufConverter needs Google's protobuf: pip install 'connect-runtime[protobuf]'.", name=error.name
    ) from error

__all__ = ["ProtobufConverter"]
