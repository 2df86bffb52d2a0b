"""What a Java class file says of its class: its name, what it extends and implements, whether it can be made.

Only the constant pool and the few numbers behind it are read: https://docs.oracle.com/javase/specs/jvms/se21/html/jvms-4.html
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

_MAGIC: Final = 0xCAFEBABE
#: How many bytes follow the tag of a constant, but for texts.
_LENGTHS: Final = {
    **dict.fromkeys((7, 8, 16, 19, 20), 2),
    15: 3,
    **dict.fromkeys((3, 4, 9, 10, 11, 12, 17, 18), 4),
    **dict.fromkeys((5, 6), 8),
}
_TEXT, _CLASS, _LONG, _DOUBLE = 1, 7, 5, 6
_PUBLIC, _INTERFACE, _ABSTRACT = 0x0001, 0x0200, 0x0400


@dataclass(frozen=True, slots=True)
class ClassFile:
    """A class, by the names that Java source has: `org.example.Orders$Key`.

    Attributes:
        name: of the class.
        parents: what it extends, then what it implements.
        concrete: whether it is public, and neither abstract nor an interface.
    """

    name: str
    parents: tuple[str, ...]
    concrete: bool


def read_class(data: bytes) -> ClassFile:
    """Read a class file.

    Raises:
        ValueError: it is none, or is cut off.
    """
    try:
        return _read(data)
    except (struct.error, KeyError, IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"it is not a class file: {type(error).__name__}") from error


def _read(data: bytes) -> ClassFile:
    magic, _, count = struct.unpack_from(">IIH", data)
    if magic != _MAGIC:
        raise ValueError("it is not a class file")
    texts: dict[int, tuple[int, int]] = {}
    classes: dict[int, int] = {}
    at, number = 10, 1
    while number < count:
        tag = data[at]
        if tag == _TEXT:
            length = struct.unpack_from(">H", data, at + 1)[0]
            texts[number] = (at + 3, at + 3 + length)
            at += 3 + length
        else:
            if tag == _CLASS:
                classes[number] = struct.unpack_from(">H", data, at + 1)[0]
            at += 1 + _LENGTHS[tag]
        number += 2 if tag in (_LONG, _DOUBLE) else 1  # these take two places

    def named(index: int) -> str:
        begin, end = texts[classes[index]]
        return data[begin:end].decode("utf-8", "surrogatepass").replace("/", ".")

    flags, this, parent, implemented = struct.unpack_from(">HHHH", data, at)
    interfaces = struct.unpack_from(f">{implemented}H", data, at + 8)
    parents = ([named(parent)] if parent else []) + [named(index) for index in interfaces]
    concrete = bool(flags & _PUBLIC) and not flags & (_INTERFACE | _ABSTRACT)
    return ClassFile(named(this), tuple(parents), concrete)
