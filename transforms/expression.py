"""Compute fields and filter records by SQL expressions: Expression.

transforms.priced.type=Expression
transforms.priced.filter=amount > 10 and country in ('DE', 'FR')
transforms.priced.fields=total = price * quantity, name = upper(name)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, TypeVar

from connect import Batch, ConfigError, DataError, Schema, Transformation, Type, Values, settings
from connect.data.column import NoArrowForm
from connect.data.struct_columns import FieldColumn, StructColumns
from connect.data.times import timestamp_of
from connect.settings import Config
from transforms.expressions.compile import Compiled, compiled
from transforms.expressions.kinds import ANY, Kind, Typed, of_schema, to_schema
from transforms.expressions.moments import as_timestamp
from transforms.expressions.parse import Assignment, parse, parse_assignments
from transforms.expressions.tree import ExpressionError, Node, Ref
from transforms.rows import beside_nulls, with_groups

B = TypeVar("B", bound=Batch[Any])

_RECORD = {
    "topic": Typed(Kind.TEXT),
    "partition": Typed(Kind.INTEGER),
    "offset": Typed(Kind.INTEGER),
    "timestamp": Typed(Kind.TIMESTAMP),
}
_TARGETS = ("topic", "partition", "timestamp")


class _Plan(NamedTuple):
    """The expressions for records of one key schema and one value schema.

    Attributes:
        filter: the condition; None keeps all records.
        fields: where each result goes.
        key, value: the schemas that the records get.
    """

    filter: Compiled | None
    fields: list[tuple[Ref, Compiled]]
    key: Schema | None
    value: Schema | None


def condition_of(key: str, text: str) -> Node:
    """The tree of a condition.

    Args:
        key: the setting that holds the condition, for messages.
        text: the condition as written.

    Raises:
        ConfigError: the condition is wrong for any record; the message says where.
    """
    tree: Node = _at_key(key, text, parse)
    _at_key(key, text, lambda _: compiled(tree, _unknown, condition=True))
    return tree


def value_of(key: str, text: str) -> Node:
    """The tree of an expression of any type. Arguments and errors as in `condition_of`."""
    tree: Node = _at_key(key, text, parse)
    _at_key(key, text, lambda _: compiled(tree, _unknown))
    return tree


def _assigned(key: str, text: str) -> list[Assignment]:
    """The trees of `fields`. Raises as `condition_of` does."""
    assignments: list[Assignment] = _at_key(key, text, parse_assignments)
    for each in assignments:
        _check_target(each.target, text)
        _at_key(key, text, lambda _, each=each: compiled(each.node, _unknown))  # type: ignore[misc]
    return assignments


def _unknown(ref: Ref) -> Typed:
    return ANY


class Expression(Transformation):
    """Computes fields of a record from the record, and drops the records that do not meet a condition.

    Nothing is aggregated: an expression sees one record. All fields are computed from the record as it arrived.

    Attributes:
        filter_key, fields_key: the settings that hold the condition and the assignments, for messages.
    """

    pure = True
    filter_key: ClassVar[str] = "filter"
    fields_key: ClassVar[str] = "fields"
    settings = settings.define(
        settings.String(
            "filter",
            default=None,
            importance="HIGH",
            width="LONG",
            validator=lambda name, text: text and condition_of(name, text),
            doc="A condition. Records for which it is false or null are dropped: "
            "amount > 10 and country in ('DE', 'FR').",
        ),
        settings.String(
            "fields",
            default=None,
            importance="HIGH",
            width="LONG",
            validator=lambda name, text: text and _assigned(name, text),
            doc="Fields to compute, separated by commas: total = price * quantity, name = upper(name). A plain name is "
            "a field of the value; key.id, headers.trace, record.topic and record.timestamp are other targets.",
        ),
        settings.List("drop", default=[], doc="Fields of the value to drop, after all fields are computed."),
    )

    def configure(self, config: Config) -> None:
        self._filter: str = config["filter"] or ""
        self._fields: str = config["fields"] or ""
        self._drop: frozenset[str] = frozenset(filter(None, config["drop"]))
        if not self._filter and not self._fields and not self._drop:
            raise ConfigError("fields", "is empty, and so are filter and drop. Set at least one of them.")
        condition = condition_of("filter", self._filter) if self._filter else None
        self._prepare(condition, _assigned("fields", self._fields) if self._fields else [])

    def _prepare(self, condition: Node | None, assignments: list[Assignment]) -> None:
        """Set the trees of `_filter` and `_fields`, and find out which parts of a record they read."""
        self._condition = condition
        self._assignments = assignments
        self._plan = lru_cache(maxsize=1000)(self._make_plan)
        checked, fields = self._make(_unknown)
        refs = [ref for _, each in fields for ref in each.refs] + list(checked.refs if checked else ())
        self._roots = {ref.root for ref in refs}
        self._sees_key = "key" in self._roots or any(target.root == "key" for target, _ in self._assignments)
        self._value_only = all(target.root == "value" and target.path for target, _ in self._assignments)

    def apply(self, record: Any) -> Any:
        plan = self._planned(record.key_schema, record.value_schema)
        if plan.filter is not None and not _run(plan.filter, record, self.filter_key):
            return None
        results = []
        for target, expression in plan.fields:
            if target.root == "value" and target.path and record.value is None:
                continue
            results.append((target, expression, _run(expression, record, str(target))))
        return self._changed(record, plan, results)

    def apply_batch(self, batch: B) -> B:
        if not self._by_columns(batch):
            return super().apply_batch(batch)
        if not len(batch):
            return batch
        key_schema = batch.keys.schemas[0] if "key" in self._roots else None
        return with_groups(
            batch,
            "values",
            [self._column(batch, key_schema, rows, values) for rows, values in batch.values.groups()],
        )

    def _by_columns(self, batch: Batch[Any]) -> bool:
        """Whether the expressions read only what a batch holds as columns."""
        keyed = "key" in self._roots
        return self._value_only and "headers" not in self._roots and (not keyed or batch.keys.schemas.constant)

    def _column(
        self, batch: B, key_schema: Schema | None, rows: Sequence[int], values: Values
    ) -> tuple[list[int], Values]:
        """The rows that stay, and their new values."""
        plan = self._planned(key_schema, values.schemas[0])
        inputs = _Inputs(batch, rows, values)
        chosen = list(rows)
        mask = None if plan.filter is None else _in_arrow(plan.filter, values.struct_columns)
        if mask is not None and values.struct_columns is not None:
            values, kept = _filtered(values.struct_columns, mask)
            chosen = kept if rows == range(len(rows)) else [rows[place] for place in kept]
            inputs = _Inputs(batch, chosen, values)
        elif plan.filter is not None:
            answers = _over(plan.filter, inputs, self.filter_key)
            if not all(answer is True for answer in answers):
                kept = [place for place, answer in enumerate(answers) if answer is True]
                chosen = kept if rows == range(len(rows)) else [rows[place] for place in kept]
                values = values.take(kept)
                inputs = _Inputs(batch, chosen, values)
        if not chosen or (not plan.fields and not self._drop):
            return chosen, values
        if values.struct_columns is not None and plan.value is not None and plan.value.fields:
            return chosen, self._columns(values.struct_columns, plan, plan.value, inputs)
        items = values.to_list()
        if None in items:
            present = [place for place, item in enumerate(items) if item is not None]
            if not present:
                return chosen, Values(items, plan.value)
            inner = values.take(present)
            inner_inputs = _Inputs(batch, [chosen[place] for place in present], inner)
            changed = Values(self._rows(inner.to_list(), plan, inner_inputs), plan.value)
            return chosen, beside_nulls(changed, present, len(items), plan.value)
        return chosen, Values(self._rows(items, plan, inputs), plan.value)

    def _columns(self, columns: StructColumns, plan: _Plan, schema: Schema, inputs: _Inputs) -> Values:
        made: dict[Any, Any] = {}
        for target, expression in plan.fields:
            column = _in_arrow(expression, columns)
            made[target.path[0]] = _over(expression, inputs, str(target)) if column is None else column
        held: list[Any] = [
            made[field.name] if field.name in made else columns.field(field.name) for field in schema.fields
        ]
        return StructColumns(schema, held)

    def _rows(self, items: list[Any], plan: _Plan, inputs: _Inputs) -> list[Any]:
        _all_objects(items)
        made = [(str(target.path[0]), _over(expression, inputs, str(target))) for target, expression in plan.fields]
        new = [dict(item) for item in items]
        for name, results in made:
            for row, result in zip(new, results, strict=True):
                row[name] = result
        for name in self._drop:
            for row in new:
                row.pop(name, None)
        return new

    def _changed(self, record: Any, plan: _Plan, results: list[tuple[Ref, Compiled, Any]]) -> Any:
        changes: dict[str, Any] = {}
        value, key, headers = record.value, record.key, record.headers
        for target, expression, result in results:
            name = str(target.path[0]) if target.path else ""
            if target.root == "value":
                value = {**_object(value), name: result} if name else result
            elif target.root == "key":
                key = {**_object(key), name: result} if name else result
            elif target.root == "headers":
                headers = headers.remove(name)
                if result is not None:
                    headers = headers.add(name, result, to_schema(expression.typed))
            elif result is not None:
                changes[name] = _part(name, result)
        if self._drop and value is not None:
            value = {name: item for name, item in _object(value).items() if name not in self._drop}
        if value is not record.value or plan.value is not record.value_schema:
            changes |= {"value": value, "value_schema": plan.value}
        if key is not record.key or (self._sees_key and plan.key is not record.key_schema):
            changes |= {"key": key, "key_schema": plan.key}
        if headers is not record.headers:
            changes["headers"] = headers
        return record.replace(**changes) if changes else record

    # Making plans.

    def _planned(self, key: Schema | None, value: Schema | None) -> _Plan:
        return self._plan(key if self._sees_key else None, value)

    def _make(self, resolve: Callable[[Ref], Typed]) -> tuple[Compiled | None, list[tuple[Ref, Compiled]]]:
        condition = None
        if self._condition is not None:
            tree = self._condition
            condition = _at_key(self.filter_key, self._filter, lambda _: compiled(tree, resolve, condition=True))
        fields = [
            (each.target, _at_key(self.fields_key, self._fields, lambda _, each=each: compiled(each.node, resolve)))  # type: ignore[misc]
            for each in self._assignments
        ]
        return condition, fields

    def _make_plan(self, key: Schema | None, value: Schema | None) -> _Plan:
        def resolve(ref: Ref) -> Typed:
            if ref.root == "record":
                return _RECORD[str(ref.path[0])]
            if ref.root == "headers":
                return ANY
            return _typed(ref, value if ref.root == "value" else key)

        try:
            condition, fields = self._make(resolve)
            return _Plan(condition, fields, self._schema("key", key, fields), self._schema("value", value, fields))
        except ConfigError as error:
            # Only these records cause it: the configuration itself was checked when the task started.
            raise DataError(f'"{error.key}" {error.message}') from None

    def _schema(self, root: str, schema: Schema | None, fields: list[tuple[Ref, Compiled]]) -> Schema | None:
        results = [(target, expression) for target, expression in fields if target.root == root]
        for target, expression in results:
            if not target.path:
                return to_schema(expression.typed)
        drop = self._drop if root == "value" else frozenset[str]()
        if schema is None or (not results and not drop):
            return schema
        if schema.type is not Type.STRUCT:
            raise DataError(f"the {root} is not a struct, so it has no fields.")
        members = {field.name: field.schema for field in schema.fields}
        for target, expression in results:
            made = to_schema(expression.typed)
            if made is None:
                place = ExpressionError(
                    f"the type of {target} is unknown. Cast the expression: cast(... as varchar).", target.at
                ).within(self._fields)
                raise ConfigError(self.fields_key, place)
            members[str(target.path[0])] = made
        return schema.replace(fields={name: member for name, member in members.items() if name not in drop})


class _Inputs:
    """The parts of some records, as columns; each is made once."""

    def __init__(self, batch: Batch[Any], rows: Sequence[int], values: Values) -> None:
        self._batch = batch
        self._rows = rows
        self._values = values
        self._made: dict[tuple[str, tuple[str | int, ...]], list[Any]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def of(self, ref: Ref) -> list[Any]:
        """The column of a part."""
        key = (ref.root, ref.path)
        if key not in self._made:
            self._made[key] = self._make(ref)
        return self._made[key]

    def _make(self, ref: Ref) -> list[Any]:
        if ref.root == "value":
            columns = self._values.struct_columns
            if columns is not None and ref.path:
                name = str(ref.path[0])
                if columns.struct.field(name) is None:
                    return [None] * len(self)
                return _reached(columns.field(name).items, ref.path[1:])
            return _reached(self._values.to_list(), ref.path)
        if ref.root == "key":
            return _reached(self._batch.keys.take(list(self._rows)).to_list(), ref.path)
        name = str(ref.path[0])
        column = getattr(self._batch, f"{name}s", None)
        if column is None:
            return [None] * len(self)  # source records have no offset
        items = column.take(list(self._rows)).to_list()
        return [_moment(item) for item in items] if name == "timestamp" else items


def _at_key(key: str, text: str, make: Callable[[str], Any]) -> Any:
    try:
        return make(text)
    except ExpressionError as error:
        raise ConfigError(key, error.within(text)) from None
    except RecursionError:
        raise ConfigError(key, "is nested too deeply. Split it into several steps.") from None


def _check_target(target: Ref, text: str) -> None:
    problem = None
    if target.root == "record" and (not target.path or target.path[0] not in _TARGETS):
        problem = f"only {', '.join(_TARGETS)} of a record can be set."
    elif target.root == "headers" and len(target.path) != 1:
        problem = "write headers.name for a header."
    elif len(target.path) > 1:
        problem = "only top-level fields of the value or the key can be set, not those inside structs."
    if problem:
        raise ConfigError("fields", ExpressionError(problem, target.at).within(text))


def _typed(ref: Ref, schema: Schema | None) -> Typed:
    optional = False
    for step in ref.path:
        if schema is None:
            return ANY
        optional = optional or schema.optional
        if isinstance(step, int):
            if schema.type is not Type.ARRAY:
                raise ExpressionError(f"{ref} takes an item of something that is not a list.", ref.at)
            schema, optional = schema.value_schema, True
        elif schema.type is Type.MAP:
            schema, optional = schema.value_schema, True
        else:
            field = schema.field(step) if schema.type is Type.STRUCT else None
            if field is None:
                raise ExpressionError(f'the {ref.root} has no field "{step}".', ref.at)
            schema = field.schema
    typed = of_schema(schema)
    return typed._replace(schema=schema.as_optional()) if optional and schema is not None else typed


def _reached(items: list[Any], path: tuple[str | int, ...]) -> list[Any]:
    for step in path:
        items = [_step(item, step) for item in items]
    return items


def _step(item: Any, step: str | int) -> Any:
    if item is None:
        return None
    if isinstance(item, dict):
        return item.get(step)
    if isinstance(item, list | tuple) and isinstance(step, int):
        return item[step - 1] if step <= len(item) else None
    raise DataError(f"{step!r} is looked up in a value that is neither an object nor a list.")


def _of_record(ref: Ref, record: Any) -> Any:
    if ref.root == "value":
        found = record.value
    elif ref.root == "key":
        found = record.key
    elif ref.root == "headers":
        if not ref.path:
            raise DataError("headers cannot be read all at once. Write headers.name for one.")
        header = record.headers.last(str(ref.path[0]))
        found = None if header is None else header.value
        return _reached([found], ref.path[1:])[0]
    else:
        name = str(ref.path[0])
        found = getattr(record, name, None)
        return _moment(found) if name == "timestamp" else found
    for step in ref.path:
        found = _step(found, step)
    return found


def _moment(milliseconds: int | None) -> Any:
    return None if milliseconds is None else timestamp_of(milliseconds)


def _run(expression: Compiled, record: Any, label: str) -> Any:
    try:
        return expression.run(*(_of_record(ref, record) for ref in expression.refs))
    except DataError as error:
        raise DataError(f"{label}: {error}") from error


def _over(expression: Compiled, inputs: _Inputs, label: str) -> list[Any]:
    try:
        return expression.over([inputs.of(ref) for ref in expression.refs], len(inputs))
    except DataError as error:
        raise DataError(f"{label}: {error}") from error


def _in_arrow(expression: Compiled, columns: StructColumns | None) -> Any:
    """The results as an Arrow column; None where the expression or one of its fields is not in Arrow."""
    if expression.vector is None or columns is None:
        return None
    names = {str(ref.path[0]) for ref in expression.refs}
    if not names or not all(columns.field(name).is_arrow for name in names):
        return None
    import pyarrow as pa

    try:
        results = expression.vector({name: columns.column(name) for name in names})
        return results if isinstance(results, pa.Array) else None
    except (pa.ArrowException, NoArrowForm):
        return None  # Python runs it again and finds the error, if there is one


def _filtered(columns: StructColumns, mask: Any) -> tuple[Values, list[int]]:
    """The values where the mask is true (neither false nor null), and the numbers of their rows."""
    import pyarrow.compute as pc

    chosen = pc.indices_nonzero(mask)
    rows: list[int] = chosen.to_pylist()
    if len(rows) == len(columns):
        return columns, rows
    fields = [
        FieldColumn(each.schema, array=each.array.take(chosen)) if each.is_arrow else each.take(rows)
        for each in columns.fields
    ]
    return StructColumns(columns.struct, fields), rows


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DataError(f"a value of type {type(value).__name__} has no fields.")
    return value


def _all_objects(items: list[Any]) -> None:
    for item in items:
        if type(item) is not dict:
            _object(item)


def _part(name: str, result: Any) -> Any:
    if name == "topic" and isinstance(result, str) and result:
        return result
    if name == "partition" and type(result) is int and 0 <= result < 1 << 31:
        return result
    if name == "timestamp":
        if type(result) is int:
            return result
        if hasattr(result, "year"):
            from transforms.expressions.registry import FUNCTIONS

            return FUNCTIONS["epoch_ms"].run(as_timestamp(result))
    raise DataError(f"{result!r} is not a valid {name} of a record.")
