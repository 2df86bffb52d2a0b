"""What a module of Java requires, changed in its `module-info.class` (chapter 4 of the JVM's specification)."""

import struct

_MODULE = 19
#: How long an entry of the pool of constants is behind its tag; a text says it itself.
_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, _MODULE: 2, 20: 2}
_TEXT, _LONG, _DOUBLE = 1, 5, 6
_OPTIONAL = 0x0040  # "requires static": needed by the compiler, not by the JVM


def with_optional(module_info: bytes, names: set[str]) -> bytes:
    """The same module, which starts without those that it requires by these names."""
    texts: dict[int, str] = {}
    modules: dict[int, int] = {}
    (count,) = struct.unpack_from(">H", module_info, 8)
    at, number = 10, 1
    while number < count:
        tag = module_info[at]
        if tag == _TEXT:
            (size,) = struct.unpack_from(">H", module_info, at + 1)
            texts[number] = module_info[at + 3 : at + 3 + size].decode()
            at += 2 + size
        else:
            if tag == _MODULE:
                (modules[number],) = struct.unpack_from(">H", module_info, at + 1)
            at += _SIZES[tag]
        at += 1
        number += 2 if tag in (_LONG, _DOUBLE) else 1
    at += 12  # its access, name and parent; a module has no interfaces, fields or methods
    changed = bytearray(module_info)
    (attributes,) = struct.unpack_from(">H", module_info, at)
    at += 2
    for _ in range(attributes):
        name, size = struct.unpack_from(">HI", module_info, at)
        if texts[name] == "Module":
            (required,) = struct.unpack_from(">H", module_info, at + 12)
            for entry in range(at + 14, at + 14 + 6 * required, 6):
                module, flags = struct.unpack_from(">HH", module_info, entry)
                if texts[modules[module]] in names:
                    struct.pack_into(">H", changed, entry + 2, flags | _OPTIONAL)
        at += 6 + size
    return bytes(changed)
