"""JSON Schemas that refer to each other: what a `$ref` means.

A schema is a node (parsed JSON) within a document. References of the registry are documents with the names by which
they are referred to; a document's own `$id`, and those within it, are names as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin

import msgspec

from connect.errors import DataError

_DEEPEST: Final = 100


class Node(NamedTuple):
    """A schema and its position.

    Attributes:
        schema: a dict, or true or false.
        base: the address that references within it are relative to; empty where there is none.
        root: the document that it is part of.
    """

    schema: Any
    base: str
    root: Any

    def inner(self, schema: Any) -> Node:
        """A schema within this one."""
        return Node(schema, _base_of(schema, self.base), self.root)


class Documents:
    """A schema with all that it refers to.

    Args:
        text: of the schema.
        references: the texts of others, by the names by which they are referred to.

    Attributes:
        root: the schema itself.

    Raises:
        DataError: a text is not JSON.
    """

    def __init__(self, text: str, references: Mapping[str, str] | None = None) -> None:
        self._by_address: dict[str, Node] = {}
        self.texts = {"": text, **(references or {})}
        for name, content in (references or {}).items():
            self._add(name, _parsed(content, f'the schema "{name}"'))
        self.root = self._add("", _parsed(text, "its schema"))

    def _add(self, name: str, schema: Any) -> Node:
        root = Node(schema, _base_of(schema, name), schema)
        self._by_address[name] = root
        for node in _within(root, 0):
            self._by_address.setdefault(node.base, node._replace(root=node.schema))
        return root

    def resolved(self, node: Node, reference: str) -> Node:
        """The schema that a `$ref` in this one means.

        Raises:
            DataError: there is none.
        """
        address, fragment = urldefrag(reference)
        found: Node | None = node
        if address:
            joined = urljoin(node.base, address) if node.base else address
            found = self._by_address.get(joined) or self._by_address.get(address)
        else:
            found = Node(node.root, _base_of(node.root, node.base), node.root)
        if found is not None:
            found = _at(found, unquote(fragment))
        if found is None:
            raise DataError(f'its schema refers to "{reference}", which is neither in it nor in its references.')
        return found


def _parsed(text: str, what: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise DataError(f"{what} is not JSON: {error}.") from None


def _base_of(schema: Any, base: str) -> str:
    """The base of references within a schema: its own address, if it has one."""
    own = schema.get("$id") if isinstance(schema, dict) else None
    if not isinstance(own, str) or own.startswith("#"):
        return base
    return urldefrag(urljoin(base, own))[0]


def _within(node: Node, depth: int) -> Iterator[Node]:
    """The schemas with an address within this one, itself included."""
    if depth > _DEEPEST:
        return
    if isinstance(node.schema, dict):
        if "$id" in node.schema and node.base:
            yield node
        for inner in node.schema.values():
            yield from _within(node.inner(inner), depth + 1)
    elif isinstance(node.schema, list):
        for inner in node.schema:
            yield from _within(node.inner(inner), depth + 1)


def _at(node: Node, fragment: str) -> Node | None:
    """The schema at a JSON pointer or anchor; None where there is none."""
    if not fragment:
        return node
    if not fragment.startswith("/"):
        return _anchor(node, fragment, 0)
    for part in fragment[1:].split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        schema = node.schema
        if isinstance(schema, dict) and key in schema:
            node = node.inner(schema[key])
        elif isinstance(schema, list) and key.isdigit() and int(key) < len(schema):
            node = node.inner(schema[int(key)])
        else:
            return None
    return node


def _anchor(node: Node, name: str, depth: int) -> Node | None:
    schema = node.schema
    if isinstance(schema, dict):
        if schema.get("$anchor") == name or schema.get("$id") == f"#{name}":
            return node
        inner = list(schema.values())
    else:
        inner = schema if isinstance(schema, list) else []
    if depth > _DEEPEST:
        return None
    return next((found for each in inner if (found := _anchor(node.inner(each), name, depth + 1))), None)
