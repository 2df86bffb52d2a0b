"""One value through a transformation, in each form that a batch can hold it in."""

import copy
from typing import Any

from connect import Schema, SchemaAndValue, SinkRecord, Transformation

from .forms import forms, told, with_config

#: So many records that structs held field by field are worth a form of their own.
ENOUGH = 100
V2 = {"field.syntax.version": "V2"}


def changed(kind: type[Transformation], config: dict[str, str], schema: Schema | None, value: Any) -> SinkRecord:
    """The record that comes out; the same in each form, and what went in is as it was."""
    before = copy.deepcopy(value)
    made = with_config(kind, config)
    record = SinkRecord("t", value, schema, key=value, key_schema=schema)
    one: SinkRecord = made.apply(record)
    for batch in forms([record] * ENOUGH):
        assert [told(each) for each in made.apply_batch(batch)] == [told(one)] * ENOUGH
    assert value == before
    return one


def shaped(kind: type[Transformation], config: dict[str, str], schema: Schema | None, value: Any) -> SchemaAndValue:
    """The schema and value that come out; the key stays."""
    one = changed(kind, config, schema, value)
    assert one.key is value
    assert one.key_schema is schema
    return SchemaAndValue(one.value_schema, one.value)


def refused(kind: type[Transformation], config: dict[str, str], schema: Schema | None, value: Any) -> Exception:
    """The error that a record raises; of the same kind in each form."""
    made = with_config(kind, config)
    record = SinkRecord("t", value, schema, key=value, key_schema=schema)
    errors = []
    for act in (
        lambda: made.apply(record),
        *(lambda batch=batch: made.apply_batch(batch) for batch in forms([record] * ENOUGH)),
    ):
        try:
            act()
        except Exception as error:
            errors.append(error)
    assert len({type(error) for error in errors}) == 1
    assert len(errors) == 4
    return errors[0]
