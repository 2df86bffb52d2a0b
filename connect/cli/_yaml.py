"""YAML with the line of each key and each value.

Scalars are those of YAML's core schema: true, false, null and numbers; everything else is text, so that neither a date
nor a plain `no` changes its meaning.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from connect.errors import ConnectError, one_line


class YamlError(ConnectError):
    """The content of a file is invalid; the message begins with file and line."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a file.

    Attributes:
        value: a dict of nodes, a list of nodes, or a scalar.
        file, line: where it begins; of a mapping's value, its key.
        source: of a scalar as it is written.
    """

    value: Any
    file: str
    line: int
    source: str = ""

    @property
    def place(self) -> str:
        """FILE:LINE."""
        return f"{self.file}:{self.line}"

    def wrong(self, message: str) -> NoReturn:
        """Raise YamlError with this position."""
        raise YamlError(f"{self.place}: {message}")

    def plain(self) -> Any:
        """The value without its positions."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value

    def mapping(self, what: str) -> dict[str, Node]:
        """Its keys, or YamlError."""
        if not isinstance(self.value, dict):
            self.wrong(f"{what} is written as keys and values.")
        return self.value

    def items(self) -> list[Node]:
        """The elements of a list; anything else counts as a list of one."""
        return self.value if isinstance(self.value, list) else [self]

    def at(self, path: tuple[str, ...]) -> Node:
        """The node at these keys, or the last existing one before it."""
        node = self
        for key in path:
            if not isinstance(node.value, dict) or key not in node.value:
                break
            node = node.value[key]
        return node


def read_yaml(path: str, data: bytes | None = None) -> Node:
    """One file with one document. `data` is its content, if known. Raises YamlError."""
    try:
        text = (Path(path).read_bytes() if data is None else data).decode()
    except OSError as error:
        raise YamlError(f"{path}: {(error.strerror or 'it cannot be read').lower()}.") from error
    except UnicodeDecodeError as error:
        raise YamlError(f"{path}: this is not UTF-8.") from error
    try:
        import yaml
    except ImportError as error:
        raise YamlError("This command needs PyYAML to read YAML: pip install 'connect-runtime[test]'.") from error
    try:
        document = yaml.compose(text, _loader(yaml))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark else ""
        raise YamlError(f"{path}{line}: this is not YAML: {error.problem or error}.") from error
    except yaml.YAMLError as error:
        raise YamlError(f"{path}: this is not YAML: {one_line(error)}.") from error
    if document is None:
        raise YamlError(f"{path}: the file is empty.")
    return _node(document, path, document.start_mark.line + 1)


_NULL = re.compile(r"null|Null|NULL|~|")
_TRUE, _FALSE = re.compile(r"true|True|TRUE"), re.compile(r"false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+")
_OTHER_INT = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_SPECIAL = {".nan": "nan", ".inf": "inf", "+.inf": "inf", "-.inf": "-inf"}


_PLAIN = "!plain"


def _loader(yaml: Any) -> Any:
    # Which plain scalar is what is decided here: the library only says that it has neither quotes nor a tag.
    return type("Loader", (yaml.SafeLoader,), {"yaml_implicit_resolvers": {None: [(_PLAIN, re.compile(""))]}})


def _node(node: Any, file: str, line: int) -> Node:
    if node.id == "sequence":
        return Node([_node(one, file, one.start_mark.line + 1) for one in node.value], file, line)
    if node.id == "mapping":
        return Node(_mapping(node, file), file, line)
    return Node(_scalar(node, file, line), file, line, node.value)


def _mapping(node: Any, file: str) -> dict[str, Node]:
    own: dict[str, Node] = {}
    merged: dict[str, Node] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if key.id != "scalar":
            raise YamlError(f"{file}:{line}: a key is text.")
        if key.value == "<<" and key.style is None:
            for one in value.value if value.id == "sequence" else [value]:
                if one.id != "mapping":
                    raise YamlError(f"{file}:{line}: << needs another mapping.")
                merged = {**_mapping(one, file), **merged}
        elif key.value in own:
            raise YamlError(f'{file}:{line}: "{key.value}" stands on line {own[key.value].line} too; keep one of them.')
        else:
            own[key.value] = _node(value, file, line)
    return {**merged, **own}


def _scalar(node: Any, file: str, line: int) -> Any:
    text: str = node.value
    tag = node.tag.removeprefix("tag:yaml.org,2002:")
    if tag == "binary":
        try:
            return base64.b64decode("".join(text.split()), validate=True)
        except (binascii.Error, ValueError):
            raise YamlError(f"{file}:{line}: this is not base64.") from None
    if tag == "str":
        return text
    if tag not in (_PLAIN, "int", "float", "bool", "null"):
        raise YamlError(f"{file}:{line}: the tag {node.tag} is not known here.")
    if _NULL.fullmatch(text):
        return None
    if _TRUE.fullmatch(text) or _FALSE.fullmatch(text):
        return bool(_TRUE.fullmatch(text))
    if _INT.fullmatch(text):
        return int(text)
    if _OTHER_INT.fullmatch(text):
        return int(text, 0)
    if text.lower() in _SPECIAL:
        return float(_SPECIAL[text.lower()])
    return float(text) if _FLOAT.fullmatch(text) else text
