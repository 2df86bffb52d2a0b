"""`foreach.batch`: a function of the user's that is called with each batch in place of writing the table."""

from __future__ import annotations

import importlib
import inspect
import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from connect.errors import ConfigError, ConnectError, one_line
from connect.plugins.discovery import plugin_folders
from spark_sink.commit_notes import Ranges
from spark_sink.tables.types import quoted
from spark_sink.tables.writer import TableWriter

log = logging.getLogger(__name__)

KEY: Final = "foreach.batch"
#: Errors that Spark raises in the function say what they are.
_SPARKS: Final = ("pyspark.", "py4j.")


class BatchContext:
    """What a function of `foreach.batch` gets beside the rows of a batch and its number.

    Attributes:
        connector: the connector's name.
        application: names the query. With the number of the batch it identifies the batch for ever: a batch that is
            repeated, as after a crash, has the same of both, and the same records.
        topic: of all rows, where each topic has tables of its own; else None.
        offsets: for each topic partition the first and the last offset of the batch, as far as they are known; the
            first is None for the partition's first record.
    """

    def __init__(self, writer: TableWriter, batch: int, ranges: Ranges) -> None:
        self.connector = writer.connector
        self.application = writer.app_id
        self.topic = writer.topic
        self.offsets = ranges
        self._writer = writer
        self._batch = batch
        self._written = False

    def write(self, rows: Any) -> None:
        """Write rows to the table as without the function: exactly once, with its mode, evolution and dead letters.

        At most once in a batch: Delta would skip the second rows as repeated.

        Args:
            rows: those of the batch, or some of them, with the same columns. Columns of `_value` may be other ones.

        Raises:
            ConnectError: it was called before. Else as `TableWriter`.
        """
        if not self._writer.settings.table:
            raise ConfigError("table", "is required by context.write: it says where rows go.")
        if self._written:
            raise ConnectError(
                "context.write was called twice for one batch. Delta would skip the second rows: join them first."
            )
        self._written = True
        self._writer(rows, self._batch, self.offsets)

    def as_table(self, rows: Any) -> Any:
        """The rows as the table's columns: key, fields of the value, metadata. Without those that are not written."""
        known = self._writer.rows(rows)
        columns = [f"{column.sql} AS {quoted(column.name)}" for column in known.incoming()]
        return rows.where(known.wanted()).selectExpr(*columns)


@dataclass
class ForeachBatch:
    """Calls the function with each batch; for `DataStreamWriter.foreachBatch`, in place of a `TableWriter`.

    It travels pickled to where Spark runs it, and imports the function there.

    Attributes:
        writer: of the table.
        plugin_path: folders of plug-ins.
    """

    writer: TableWriter
    plugin_path: Sequence[str] = ()
    _function: Callable[[Any, int, BatchContext], object] | None = field(default=None, init=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_function": None}

    def __call__(self, df: Any, batch_id: int, ranges: Ranges | None = None) -> None:
        """Have the function take a batch.

        Raises:
            ConfigError: the function cannot be imported.
            ConnectError: it raised an error, which the message names. One of `connect.errors` is raised as it is.
        """
        name = self.writer.settings.hook or ""
        if self._function is None:
            self._function = load(name, self.plugin_path)
        if ranges is None and self.writer.offsets is not None:
            ranges = self.writer.offsets.of(df.sparkSession, batch_id)
        try:
            self._function(df, batch_id, BatchContext(self.writer, batch_id, ranges or {}))
        except ConnectError:
            raise
        except Exception as error:
            if type(error).__module__.startswith(_SPARKS):
                raise
            raise ConnectError(
                f"{name} of {KEY} raised {type(error).__name__} in batch {batch_id}: {one_line(error)}"
            ) from error


def hooked(writer: TableWriter, plugin_path: Sequence[str]) -> TableWriter | ForeachBatch:
    """A writer, or what calls the user's function in its place if there is one."""
    return ForeachBatch(writer, tuple(plugin_path)) if writer.settings.hook else writer


def load(name: str, plugin_path: Sequence[str]) -> Callable[[Any, int, BatchContext], object]:
    """Import a function, "module:function", from a folder of plug-ins or as Python finds it.

    Raises:
        ConfigError: it cannot be imported, or is no function of three arguments, or is one of Python's own.
    """
    module_name, _, function = name.partition(":")
    top = module_name.partition(".")[0]
    if top in sys.stdlib_module_names:  # who may name a function may not run whatever there is
        raise ConfigError(KEY, f'"{module_name}" is of Python itself. Name a function of a plug-in.')
    for folder in (each for path in plugin_path for each in plugin_folders(Path(path).absolute())):
        if ((folder / f"{top}.py").is_file() or (folder / top).is_dir()) and str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
            importlib.invalidate_caches()
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise ConfigError(
            KEY,
            f"importing {module_name} failed: {type(error).__name__}: {one_line(error)}. Put it into a folder of "
            "plugin.path, or install it.",
        ) from error
    found = getattr(module, function, None)
    if not callable(found):
        raise ConfigError(KEY, f"the module {module_name} ({module.__file__}) has no function {function}.")
    try:
        inspect.signature(found).bind(None, 0, None)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            KEY, f"{name} does not take three arguments. Write def {function}(rows, batch, context)."
        ) from error
    return found  # type: ignore[no-any-return]
