"""The common base of transformations of keys or of values.

Kafka Connect has each of them twice, `Cast$Key` and `Cast$Value`. So does a module here: a base class that does the
work, and two subclasses::

    class Cast(PartTransformation): ...
    class CastKey(Cast):
        part = "keys"
    class CastValue(Cast): ...
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from connect import Batch, Schema, SchemaAndValue, Transformation, Values
from connect.api.converter import collect
from connect.data.column import NoArrowForm

if TYPE_CHECKING:
    from connect.data.struct_columns import StructColumns

B = TypeVar("B", bound=Batch[Any])


class PartTransformation(Transformation):
    """Changes the key or the value of each record, and depends on nothing else.

    `convert` is the reference. `convert_column` and `convert_arrow` do the same for all rows of one schema at once, for
    speed. All three are pure.

    Attributes:
        part: which column it changes.
    """

    pure = True
    part: ClassVar[Literal["keys", "values"]] = "values"

    @abstractmethod
    def convert(self, schema: Schema | None, value: Any) -> SchemaAndValue:
        """The new schema and value. Never change the value itself.

        Compute what depends only on the schema once for each schema, not for each value.

        Raises:
            DataError: the transformation does not apply to this value.
        """

    def convert_column(self, schema: Schema | None, items: list[Any]) -> Values:
        """The same for values of one schema, which may be null. Do not change the list."""
        convert = self.convert
        return collect([convert(schema, item) for item in items])

    def convert_arrow(self, column: StructColumns) -> Values | None:
        """The same for structs held field by field; no row is null. None: use `convert_column` instead.

        Pass unchanged fields on as they are (`column.fields`). Read others from Arrow (`column.column(name)`) or as a
        list (`column.field(name).items`). Raising `NoArrowForm` means None.
        """
        return None

    def apply(self, record: Any) -> Any:
        if self.part == "keys":
            schema, value = self.convert(record.key_schema, record.key)
            if value is record.key and schema is record.key_schema:
                return record
            return record.replace(key=value, key_schema=schema)
        schema, value = self.convert(record.value_schema, record.value)
        if value is record.value and schema is record.value_schema:
            return record
        return record.replace(value=value, value_schema=schema)

    def apply_batch(self, batch: B) -> B:
        column: Values = getattr(batch, self.part)
        changed = column.each_schema(self._of_one_schema)
        return batch if changed is column else batch.with_columns(**{self.part: changed})

    def _of_one_schema(self, column: Values) -> Values:
        if column.arrow is not None:
            try:
                converted = self.convert_arrow(column.arrow)
            except NoArrowForm:
                converted = None
            if converted is not None:
                return converted
        return self.convert_column(column.schemas[0], column.to_list())
