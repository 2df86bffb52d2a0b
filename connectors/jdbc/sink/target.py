"""One table in the database, and how it is created or changed for records, where allowed."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any, Final

import pyarrow as pa
import sqlalchemy
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import NoSuchTableError, SAWarning, SQLAlchemyError
from sqlalchemy.types import TypeEngine

from connect import ConnectError, Schema
from connect.data.evolution_policy import ADD, NULLABLE, PASS, WIDEN
from connectors.jdbc.database import Database, TableName, passes
from connectors.jdbc.database.connection import reason
from connectors.jdbc.database.names import quoted
from connectors.jdbc.database.types_to_sql import Meaning, column_type, is_too_narrow, whole_bits
from connectors.jdbc.sink.cells import literal
from connectors.jdbc.sink.errors import Misfit, RowError
from connectors.jdbc.sink.fitting import exceeds, misfit
from connectors.jdbc.sink.keys import UPDATE, JdbcSinkOptions

log = logging.getLogger(__name__)

#: Databases whose columns can be changed by statements that are known here.
CHANGEABLE: Final = ("postgresql", "mysql")
#: Of PostgreSQL, in bytes. It cuts off what is longer.
_LONGEST_NAME: Final = 63
_RENAME: Final = "Rename the field with ReplaceField."


@dataclass(frozen=True, slots=True)
class TargetColumn:
    """An existing column.

    Attributes:
        filled: whether the database has a value for it where a row has none.
        default: in the database's words, None for none.
        counts: whether the database numbers rows by it, by itself.
        comment: of MySQL, None for none.
    """

    name: str
    type: TypeEngine[Any]
    nullable: bool
    filled: bool
    default: str | None = None
    counts: bool = False
    comment: str | None = None

    @property
    def base(self) -> TypeEngine[Any]:
        """The type of its values: of a domain of PostgreSQL that of which it is made."""
        found = self.type
        while isinstance(found, postgresql.DOMAIN):
            found = found.data_type
        return found


@dataclass(frozen=True, slots=True)
class Wanted:
    """A field to write."""

    name: str
    schema: Schema
    meaning: Meaning
    key: bool


class Target:
    """A table: its columns are read once, and again after an error (`forget`).

    For one thread. DDL runs in transactions of its own, never in one with rows: some databases commit that.
    """

    def __init__(self, name: TableName, database: Database, options: JdbcSinkOptions) -> None:
        folds = options.folds and database.kind == "postgresql"
        name = TableName(*(part and part.lower() for part in astuple(name))) if folds else name
        self.name = database.local(name)
        self._database = database
        self._options = options
        self._columns: dict[str, TargetColumn] | None = None
        self._folded: dict[str, str] = {}
        self.plans: dict[Any, Any] = {}

    @property
    def known(self) -> bool:
        """Whether its columns were read, and not forgotten since."""
        return self._columns is not None

    def forget(self) -> None:
        """Read the table again before the next use."""
        self._columns = None
        self.plans.clear()

    @property
    def quoted(self) -> str:
        """Its name in a statement."""
        return self.name.quoted(self._database.dialect.identifier_preparer, self._database.settings.quotes)

    def quote(self, column: str) -> str:
        """A column's name in a statement."""
        return quoted(column, self._database.dialect.identifier_preparer, self._database.settings.quotes)

    def column(self, field: str) -> TargetColumn | None:
        """The column of a field: of the same name, else of the one that differs only in case."""
        columns = self._columns or {}
        return columns.get(field) or columns.get(self._folded.get(field.casefold(), ""))

    @property
    def columns(self) -> Mapping[str, TargetColumn]:
        """All of them."""
        return self._columns or {}

    def exists(self) -> bool:
        """Whether there is such a table."""
        return self._columns is not None or self._look()

    def provide(self, fields: Sequence[Wanted]) -> None:
        """Ensure that there is a column for each of these fields, as far as allowed.

        Raises:
            RowError: the table is missing, or a column, and may not be created.
        """
        if self._columns is None and not self._look():
            if not self._options.create:
                raise RowError(
                    f'Table "{self.name}" is missing in {self._database}, and auto.create=false. Create it, or set '
                    "auto.create=true.",
                    all_alike=True,
                )
            self._create(fields)
        missing = [field for field in fields if self.column(field.name) is None]
        if missing:
            # Another task may have been faster.
            self._look()
            missing = [field for field in missing if self.column(field.name) is None]
        policy = self._options.policy
        if missing and (ADD in policy.allowed or not policy.ignore_unknown):
            self._add(missing)

    # What is there.

    def _look(self) -> bool:
        """Read the columns. False if there is no table."""
        name, schema = self._as_stored(self.name.name), self.name.sqlalchemy_schema
        schema = None if schema is None else self._as_stored(schema)
        # Rows that are written in parts may need a look in the middle.
        with self._database.looking() as connection, warnings.catch_warnings():
            # Of types that it does not know: what they take is the database's to say.
            warnings.filterwarnings("ignore", "Did not recognize type", SAWarning)
            inspector = sqlalchemy.inspect(connection)
            try:
                found = inspector.get_columns(name, schema)
            except NoSuchTableError:
                return False
            if not found:
                return False
            if not self._options.views and name in inspector.get_view_names(schema):
                raise ConnectError(f'"{self.name}" is a view. Add VIEW to table.types to have it written to.')
        self._columns = {
            (column := self._unescaped(each["name"])): TargetColumn(
                column,
                each["type"],
                bool(each["nullable"]),
                each.get("default") is not None
                or each.get("autoincrement") is True
                or "identity" in each
                or "computed" in each,
                each.get("default"),
                each.get("autoincrement") is True,
                each.get("comment"),
            )
            for each in found
        }
        self._folded = {}
        for column in self._columns:
            key = column.casefold()
            # Two that differ in case only: none is meant by a third spelling.
            self._folded[key] = "" if key in self._folded else column
        self.plans.clear()
        return True

    def _unescaped(self, name: str) -> str:
        # SQLAlchemy reads them out of MySQL's statement as they are quoted there.
        return name.replace("``", "`") if self._database.kind == "mysql" else name

    def _as_stored(self, name: str) -> str:
        if not self._database.settings.quotes and self._database.kind == "postgresql":
            return name.lower()
        return name

    # What is to be.

    def _check_length(self, name: str, how: str, *, all_alike: bool = False) -> None:
        """Refuse a name that the database would cut off, and could take for another one then.

        Raises:
            RowError: it is such. See there for `all_alike`.
        """
        if self._database.kind == "postgresql" and len(name.encode()) > _LONGEST_NAME:
            raise RowError(
                f'"{name}" is longer than the {_LONGEST_NAME} bytes that a name has in PostgreSQL. {how}',
                all_alike=all_alike,
            )

    def _create(self, fields: Sequence[Wanted]) -> None:
        how = "Name the table by table.name.format, or topics.to.tables.mapping."
        self._check_length(self.name.name, how, all_alike=True)
        for field in fields:
            self._check_length(field.name, _RENAME)
        keys = [field for field in fields if field.key]
        definitions = [self._definition(field, created=True) for field in [*keys, *(f for f in fields if not f.key)]]
        if keys:
            definitions.append(f"PRIMARY KEY ({', '.join(self.quote(self._new(field)) for field in keys)})")
        more = " CHARACTER SET utf8mb4" if self._database.kind == "mysql" else ""
        statement = f"CREATE TABLE {self.quoted} ({', '.join(definitions)}){more}"
        self._change(statement, "created", self._look)
        if self._columns is None:
            self._look()

    def _add(self, fields: Sequence[Wanted]) -> None:
        names = ", ".join(f'"{field.name}"' for field in fields)
        if ADD not in self._options.policy.allowed:
            raise Misfit(
                f'Table "{self.name}" has no column {names}, and auto.evolve=false. Add it, set auto.evolve=true, or '
                "schema.evolution.unknown.fields=ignore.",
            )
        for field in fields:
            self._check_length(field.name, _RENAME)
        word = "ADD" if self._database.dialect.name in ("mssql", "oracle") else "ADD COLUMN"
        for field in fields:
            definition = self._definition(field, created=False)
            self._change(
                f"ALTER TABLE {self.quoted} {word} {definition}",
                f'given the column "{field.name}"',
                lambda name=field.name: self._look() and self.column(name) is not None,  # type: ignore[misc]
            )

    def _definition(self, field: Wanted, *, created: bool) -> str:
        kind = self._database.kind
        chosen = column_type(field.meaning, kind, key=field.key).compile(dialect=self._database.dialect)
        words = [self.quote(self._new(field)), chosen]
        default = literal(field.schema, field.meaning)
        if default is not None and self._database.dialect.paramstyle in ("format", "pyformat"):
            default = default.replace("%", "%%")
        # MySQL has no defaults for long texts, and none with a zone.
        has_none = kind == "mysql" and ("TEXT" in chosen or "BLOB" in chosen or field.meaning.kind == "zoned")
        if default is not None and not field.key and not has_none:
            words.append(f"DEFAULT {default}")
        if field.key or (created and not field.schema.optional and field.schema.default is None):
            words.append("NOT NULL")
        elif kind == "mysql" and "TIMESTAMP" in chosen:
            words.append("NULL")
        return " ".join(words)

    def _new(self, field: Wanted) -> str:
        """The name of a new column for a field."""
        return field.name.lower() if self._options.folds and self._database.kind in CHANGEABLE else field.name

    def _change(self, statement: str, done: str, is_done: Callable[[], bool]) -> None:
        """Run DDL; when it fails, another task may have done it meanwhile."""
        try:
            with self._database.transaction() as connection:
                connection.exec_driver_sql(statement)
        except SQLAlchemyError as error:
            if passes(error):
                raise
            if not is_done():
                why = reason(error, trimmed=self._options.trimmed)
                raise ConnectError(
                    f'Table "{self.name}" of {self._database} could not be {done}: {why} ({statement})'
                ) from error
        else:
            log.info('Table "%s" was %s: %s', self.name, done, statement)
            self._look()

    # What values need beyond it.

    def adapt(self, columns: Sequence[TargetColumn], fields: Sequence[Wanted], arrays: Sequence[pa.Array]) -> bool:
        """Widen columns, or make them nullable, where these values need it and it is allowed.

        Returns:
            whether something changed, so that plans are invalid.
        """
        allowed = self._options.policy.allowed
        if not {WIDEN, NULLABLE} & allowed or self._database.kind not in CHANGEABLE:
            return False
        changed = False
        for column, field, array in zip(columns, fields, arrays, strict=True):
            # MySQL numbers a row that has no number of its own.
            numbered = column.counts and self._database.kind == "mysql"
            if NULLABLE in allowed and array.null_count and not (column.nullable or field.key or numbered):
                self._let_be_null(column)
                changed = True
            if WIDEN in allowed and (wider := self._wider(column, field, array)) is not None:
                self._widen(column, wider, field.meaning)
                changed = True
        if NULLABLE in allowed and self._options.mode != UPDATE:
            for column in self._left_out({column.name for column in columns}):
                self._let_be_null(column)
                changed = True
        return changed

    def judge(self, columns: Sequence[TargetColumn], fields: Sequence[Wanted], arrays: Sequence[pa.Array]) -> None:
        """Check whether these values fit, after what `adapt` may do for them; unknown cases are left to the database.

        Raises:
            Misfit: some do not.
        """
        policy, kind = self._options.policy, self._database.kind
        if policy.mismatch == PASS:
            return
        may = policy.allowed if kind in CHANGEABLE else frozenset()
        for column, field, array in zip(columns, fields, arrays, strict=True):
            # MySQL makes the value of a column that fills itself of a null.
            takes_null = column.nullable or field.key or NULLABLE in may or (column.filled and kind == "mysql")
            if array.null_count and not takes_null:
                raise Misfit(f'its field "{field.name}" is null, and its column is NOT NULL.')
            why = misfit(field.meaning, column.type, array, kind)
            if why and not (WIDEN in may and self._wider(column, field, array) is not None):
                raise Misfit(f'its field "{field.name}" {why}.')
        if self._options.mode != UPDATE and NULLABLE not in may:
            for column in self._left_out({column.name for column in columns}):
                raise Misfit(f'it has no field for the column "{column.name}", which is NOT NULL and has no default.')

    def _left_out(self, written: set[str]) -> Iterator[TargetColumn]:
        """Columns that need a value and get none."""
        for column in list(self.columns.values()):
            if column.name not in written and not column.nullable and not column.filled:
                yield column

    def _wider(self, column: TargetColumn, field: Wanted, array: pa.Array) -> TypeEngine[Any] | None:
        if not is_too_narrow(field.meaning, column.type, self._database.kind):
            return None
        if len(array) == array.null_count or not exceeds(column.type, field.meaning, array):
            return None
        meaning, bits, kind = field.meaning, whole_bits(column.type), self._database.kind
        if field.key and kind == "mysql" and meaning.kind == "string":
            return None  # the key would be too long
        if bits is not None and meaning.kind.startswith("float"):
            # A double keeps every number of 53 bits.
            return column_type(Meaning("float64"), kind) if bits < 53 else None
        if meaning.kind == "decimal":
            scale = max(meaning.scale or 0, getattr(column.type, "scale", None) or 0)
            meaning = Meaning("decimal", scale=scale)
        return column_type(meaning, kind, key=field.key)

    def _widen(self, column: TargetColumn, wider: TypeEngine[Any], meaning: Meaning) -> None:
        sql = wider.compile(dialect=self._database.dialect)
        if self._database.kind == "mysql":
            how = self._modified(column, f"{sql}{_charset(column.type, wider)}", nullable=column.nullable)
        else:
            how = f"ALTER COLUMN {self.quote(column.name)} TYPE {sql}"
        self._change(
            f"ALTER TABLE {self.quoted} {how}",
            f'changed: its column "{column.name}" widened',
            lambda: self._look() and not is_too_narrow(meaning, self.columns[column.name].type, self._database.kind),
        )

    def _let_be_null(self, column: TargetColumn) -> None:
        if self._database.kind == "mysql":
            how = self._modified(column, column.type.compile(dialect=self._database.dialect), nullable=True)
        else:
            how = f"ALTER COLUMN {self.quote(column.name)} DROP NOT NULL"
        self._change(
            f"ALTER TABLE {self.quoted} {how}",
            f'changed: its column "{column.name}" may be null',
            lambda: self._look() and self.columns[column.name].nullable,
        )

    def _modified(self, column: TargetColumn, sql: str, *, nullable: bool) -> str:
        """MySQL's change of a column, which has nothing afterwards that is not said again."""
        words = [sql, "NULL" if nullable else "NOT NULL"]
        if column.default is not None:
            words.append(f"DEFAULT {column.default}")  # with ON UPDATE
        if column.counts:
            words.append("AUTO_INCREMENT")
        told = " ".join(words).replace("%", "%%")
        if column.comment:
            literal: Any = sqlalchemy.literal(column.comment)
            kept = literal.compile(dialect=self._database.dialect, compile_kwargs={"literal_binds": True})
            told += f" COMMENT {kept}"
        return f"MODIFY COLUMN {self.quote(column.name)} {told}"


def _charset(column: TypeEngine[Any], wider: TypeEngine[Any]) -> str:
    """What keeps the comparisons of a column of texts as they are."""
    charset, collation = getattr(column, "charset", None), getattr(column, "collation", None)
    if not isinstance(wider, sqlalchemy.String) or charset is None or collation is None:
        return ""
    return f" CHARACTER SET {charset} COLLATE {collation}"
