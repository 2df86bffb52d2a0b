"""Compiles the text of a .proto file, as a registry stores it, to descriptors and message classes at run time.

protoc does it, called within the process (grpcio-tools): it accepts every syntax and edition of Protobuf, and needs
half a millisecond. Parsers in Python leave it to their user to resolve names, options and map entries; the other protoc
in a wheel, protoxy, limits protobuf to version 5.
"""

from __future__ import annotations

import base64
import binascii
import errno
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

import google.type
import grpc_tools
from google.protobuf import descriptor_pb2, message_factory
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, Message
from grpc_tools import _protoc_compiler, protoc

from connect.errors import DataError

#: Files that schemas import without a reference: Confluent's own. Google's come with grpcio-tools and googleapis.
#: https://docs.confluent.io/platform/current/schema-registry/connect.html#protobuf
_META: Final = "confluent/meta.proto"

#: Its field options say what has no place in Protobuf: that an int32 is an INT8, the scale of a Decimal.
_META_TEXT: Final = """
syntax = "proto3";
package confluent;
import "google/protobuf/descriptor.proto";
message Meta {
  string doc = 1;
  map<string, string> params = 2;
  repeated string tags = 3;
  repeated Rule rules = 4;
}
message Rule {
  string name = 1;
  string doc = 2;
  string expr = 3;
  string sql = 4;
}
extend google.protobuf.FileOptions { Meta file_meta = 1088; }
extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }
"""

_DECIMAL_TEXT: Final = """
syntax = "proto3";
package confluent.type;
message Decimal {
  bytes value = 1;
  uint32 precision = 2;
  int32 scale = 3;
}
"""

_VARIANT_TEXT: Final = """
syntax = "proto3";
package confluent.type;
message Variant {
  bytes metadata = 1;
  bytes value = 2;
}
"""

_TEXTS: Final = {
    _META: _META_TEXT,
    "confluent/type/decimal.proto": _DECIMAL_TEXT,
    "confluent/type/variant.proto": _VARIANT_TEXT,
}

#: The name of the file whose text has none.
_ROOT: Final = "__root__.proto"

#: Java's converter writes the option without its import, which protoc asks for.
_META_OPTION: Final = re.compile(r"\(\s*\.?confluent\.(?:file|message|field|enum|enum_value)_meta\s*\)")
_META_IMPORT: Final = re.compile(r"import\s+(?:public\s+|weak\s+)?[\"']confluent/meta\.proto[\"']")
_SYNTAX: Final = re.compile(r"\b(?:syntax|edition)\s*=\s*[\"']")


class ProtoFile:
    """A .proto file with all its imports, in a pool of its own.

    Args:
        files: the file itself is the last, and each follows its imports.

    Attributes:
        proto: the file's own descriptor.
    """

    def __init__(self, files: list[descriptor_pb2.FileDescriptorProto]) -> None:
        self.proto = files[-1]
        self.pool = DescriptorPool()
        try:
            for file in files:
                self.pool.Add(file)
            # They are checked when they are first asked for.
            self.pool.FindFileByName(self.proto.name)
        except (TypeError, KeyError) as error:
            raise DataError(f"this is not a valid Protobuf schema: {_one_line(error)}") from None
        self._classes: dict[str, type[Message]] = {}

    def descriptor(self, full_name: str) -> Descriptor:
        """The message of this full name. KeyError if there is none."""
        return self.pool.FindMessageTypeByName(full_name)

    def message_class(self, full_name: str) -> type[Message]:
        """The class of messages of this full name."""
        if full_name not in self._classes:
            self._classes[full_name] = message_factory.GetMessageClass(self.descriptor(full_name))
        return self._classes[full_name]

    def name_at(self, indexes: tuple[int, ...]) -> str:
        """The full name of the message at these indexes: of a message in the file, of one within it, and so on.

        Entries of maps are not counted: they are not messages of the text.

        Raises:
            DataError: there is none.
        """
        names = [self.proto.package] if self.proto.package else []
        messages: Any = self.proto.message_type
        for index in indexes:
            found = [each for each in messages if not each.options.map_entry]
            if not 0 <= index < len(found):
                raise DataError(f"its schema has no message at {list(indexes)}.")
            names.append(found[index].name)
            messages = found[index].nested_type
        return ".".join(names)

    def indexes_of(self, full_name: str) -> tuple[int, ...]:
        """The indexes of the message of this full name; see `name_at`. KeyError if it is not in the file."""
        package = f"{self.proto.package}." if self.proto.package else ""
        if not full_name.startswith(package):
            raise KeyError(full_name)
        indexes = []
        messages: Any = self.proto.message_type
        for part in full_name[len(package) :].split("."):
            found = [each.name for each in messages if not each.options.map_entry]
            if part not in found:
                raise KeyError(full_name)
            indexes.append(found.index(part))
            messages = next(each for each in messages if each.name == part).nested_type
        return tuple(indexes)


def parse(text: str, references: Mapping[str, str] | None = None) -> ProtoFile:
    """Compile a file.

    Args:
        text: in the language of .proto files, or a FileDescriptorProto in base64 (as some clients register it).
        references: the texts of imported files, by the names by which they are imported.

    Raises:
        DataError: it is not a valid schema, or an import is missing.
    """
    with tempfile.TemporaryDirectory(prefix="connect-proto-") as made:
        folder = Path(made)
        names = [(_ROOT, text), *(references or {}).items()]
        for name, content in _TEXTS.items():
            _write(folder / "known", name, content.encode())
        serialized = {}
        for name, content in names:
            known = _serialized(content)
            if known is None:
                _write(folder / "given", name, _as_protoc_asks(content).encode())
            else:
                known.name = name
                serialized[name] = known
        return ProtoFile(_from_serialized(folder, serialized) if serialized else _compile(folder, _ROOT))


def _compile(folder: Path, name: str) -> list[Any]:
    """The descriptors of a file and of all its imports, those first."""
    google_types = Path(next(iter(google.type.__path__))).parents[1]
    paths = [folder / "given", folder / "known", Path(grpc_tools.__file__).parent / "_proto", google_types]
    paths = [path for path in paths if path.is_dir()]
    try:
        # protoc's program prints what is wrong; its library says it, but gives no descriptors.
        _protoc_compiler.get_protos(name.encode(), [str(path).encode() for path in paths])
    except Exception as error:
        raise DataError(f"this is not a valid Protobuf schema: {_one_line(error)}") from None
    out = folder / "descriptors"
    folders = [f"--proto_path={path}" for path in paths]
    if protoc.main(["protoc", *folders, "--include_imports", f"--descriptor_set_out={out}", name]) != 0:
        raise DataError("this is not a valid Protobuf schema; protoc has written to the log what is wrong with it.")
    return list(descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file)


def _from_serialized(folder: Path, serialized: dict[str, Any]) -> list[Any]:
    """As `_compile`, where some files are already descriptors. Their imports that are text are compiled."""
    files: dict[str, Any] = {}

    def add(name: str) -> None:
        if name in files:
            return
        own = serialized.get(name)
        if own is not None:
            for imported in own.dependency:
                add(imported)
            files[name] = own
        else:
            for file in _compile(folder, name):
                files.setdefault(file.name, file)

    if _ROOT not in serialized:
        raise DataError("its schema is text and imports a serialized one. Register both in the same form.")
    add(_ROOT)
    return list(files.values())


def _serialized(text: str) -> Any:
    """The descriptor in a text in base64; None for the language of .proto files."""
    if ";" in text or "{" in text:
        return None
    try:
        return descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError, DecodeError):
        return None


def _as_protoc_asks(text: str) -> str:
    """The text with the import of an option that it uses, and with its syntax: proto2 by default."""
    if not _SYNTAX.search(text):
        text = f'syntax = "proto2"; {text}'
    if _META_OPTION.search(text) and not _META_IMPORT.search(text):
        return f'{text}\nimport "{_META}";\n'
    return text


#: Names that are too long, or that are a file and a folder at once.
_OF_THE_NAME: Final = frozenset({errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.EEXIST})
_DEEPEST: Final = 100  # folders of a name
_SHOWN: Final = 200  # characters of a name in a message


def _write(folder: Path, name: str, content: bytes) -> None:
    """Write a file under the name by which it is imported. That comes from the registry: it must stay in the folder."""
    path = PurePosixPath(name)
    refused = DataError(f'a schema imports "{name[:_SHOWN]}", which is not the name of a file that it may use.')
    if not 0 < len(path.parts) <= _DEEPEST or path.is_absolute() or ".." in path.parts or "\0" in name or "\\" in name:
        raise refused
    target = folder / path
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    except OSError as error:
        if error.errno in _OF_THE_NAME:
            raise refused from None
        raise


_AT_ROOT: Final = re.compile(rf"^{re.escape(_ROOT)}:(\d+):(\d+) ")


def _one_line(error: Exception) -> str:
    """The error of protoc, in one line; protoc counts lines and columns from 0."""
    try:
        words = str(error)
    except UnicodeDecodeError:  # it knows only ASCII, and repeats what it was given
        return "protoc finds a file or a name that is not ASCII wrong."
    said = []
    for line in words.splitlines():
        place = _AT_ROOT.match(line)
        said.append(f"line {int(place[1]) + 1}, {line[place.end() :]}" if place else line)
    return "; ".join(said)[:1000]
