"""`file.name.template`: the form of names, as a regular expression with variables.

Variables have Aiven's form, {{variable}} or {{variable:parameter=value}}. Unlike Aiven's, a template matches all of a
name between its folders and its extension: a date in a folder's name is not taken for a topic and a partition.
"""

from __future__ import annotations

import re
from typing import Final

from connect.settings.java_regex import java_regex

_VARIABLE: Final = re.compile(r"\{\{\s*(\w+)\s*(?::[^{}]*)?\}\}")
TOPIC: Final = r"(?<topic>[a-zA-Z0-9_.-]+)"
PARTITION: Final = r"(?<partition>[0-9]+)"
START: Final = r"(?<start>[0-9]+)"
_VARIABLES: Final = {
    "topic": TOPIC,
    "partition": PARTITION,
    "start_offset": START,
    "timestamp": r"[0-9]+",
    "key": r"[^/]*",
}


class Template:
    """A parsed template.

    Attributes:
        variables: their names.
        before_offset: the character before {{start_offset}}; empty for none.
        names: matches all that follows the prefix.

    Raises:
        ValueError: it is not a template.
    """

    def __init__(self, template: str) -> None:
        self.variables: set[str] = set()
        self.before_offset = ""
        parts: list[str] = []
        end = 0
        for match in _VARIABLE.finditer(template):
            variable = match[1]
            if variable not in _VARIABLES:
                raise ValueError(f'"{variable}" is not a variable. Write one of {", ".join(sorted(_VARIABLES))}.')
            written = _VARIABLES[variable]
            if variable in self.variables:
                written = re.sub(r"^\(\?<\w+>", "(?:", written)  # of two, the first one counts
            elif variable == "start_offset":
                self.before_offset = template[max(0, match.start() - 1) : match.start()]
            self.variables.add(variable)
            parts += [template[end : match.start()], written]
            end = match.end()
        parts.append(template[end:])
        regex = "".join(parts)
        if self.variables:
            self.names = java_regex(rf"(?:.*/)?{regex}(?:\.[^/]*)?")
        else:
            self.names = java_regex(rf"(?s).*(?:{regex}).*")


def is_template(_: str, value: str) -> None:
    """The validator of the key."""
    if value:
        Template(value)
