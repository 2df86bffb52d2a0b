"""Which table a record goes to, and which tables a configuration has filled."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from connect.data.batch import SinkBatch
from spark_sink.delta.problems import is_missing, table_error
from spark_sink.layout_keys import FIELD, TOPIC
from spark_sink.rows.fields import MISSING, texts_at
from spark_sink.table_rules import NO_PART_OF_A_NAME, PART_OF_A_NAME, is_one_table, table_for

_NAME: Final = re.compile(PART_OF_A_NAME)


def by_table(
    batch: SinkBatch, template: str, field: str | None
) -> tuple[list[tuple[str, Sequence[int]]], dict[int, str]]:
    """The rows of each table, and why other rows have none. Records without a value are in neither.

    Args:
        batch: of any topics.
        template: the table's address, with variables.
        field: of the value, that `${field}` stands for.
    """
    if is_one_table(template):
        return [(template, range(len(batch)))], {}
    if FIELD not in template and batch.topics.constant and _NAME.fullmatch(batch.topics[0]):
        return [(table_for(template, batch.topics[0], ""), range(len(batch)))], {}
    names: Sequence[Any] = [""] * len(batch)
    if FIELD in template:
        assert field is not None
        names = texts_at(batch.values, field.split("."))
    found: dict[str, list[int]] = {}
    problems: dict[int, str] = {}
    tables: dict[tuple[str, str], str] = {}
    for row, key in enumerate(zip(batch.topics, names, strict=True)):
        topic, name = key
        if name is None:
            continue
        if TOPIC in template and not _NAME.fullmatch(topic):
            problems[row] = f"its topic {NO_PART_OF_A_NAME}"
            continue
        if name is MISSING or (FIELD in template and not _NAME.fullmatch(name)):
            problems[row] = f'its field "{field}" says which table it goes to, and holds no name of one.'
            continue
        table = tables.get(key) or tables.setdefault(key, table_for(template, topic, name))
        found.setdefault(table, []).append(row)
    return list(found.items()), problems


def tables_of(template: str, storage: Mapping[str, str]) -> list[str]:
    """The addresses of all existing tables that match a template. Raises ConnectError."""
    found = [""]
    for at, segment in enumerate(template.split("/")):
        joint = "/" if at else ""
        if is_one_table(segment):
            found = [f"{each}{joint}{segment}" for each in found]
            continue
        pattern = re.escape(segment)
        for variable in (TOPIC, FIELD):
            pattern = pattern.replace(re.escape(variable), "[A-Za-z0-9._-]+")
        found = [
            f"{each}{joint}{name}"
            for each in found
            for name in _folders(each or ".", storage)
            if re.fullmatch(pattern, name) and not name.startswith("_")
        ]
    return found


def _folders(parent: str, storage: Mapping[str, str]) -> list[str]:
    """The names of the folders in a folder; none if it does not exist."""
    from deltalake.exceptions import TableNotFoundError
    from deltalake.fs import DeltaStorageHandler
    from pyarrow import fs

    try:
        files = fs.PyFileSystem(DeltaStorageHandler(parent, options=dict(storage) or None))
        inside = files.get_file_info(fs.FileSelector("", allow_not_found=True))
    except TableNotFoundError as error:
        if is_missing(error):
            return []
        raise table_error(error, f"in {parent}", "be looked for") from error
    except Exception as error:  # deltalake raises plain Exceptions as well
        raise table_error(error, f"in {parent}", "be looked for") from error
    return [info.base_name for info in inside if info.type == fs.FileType.Directory]
