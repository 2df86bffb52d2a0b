"""The key of a function of the user's that is called with each batch."""

from __future__ import annotations

from connect import settings


def _named(name: str, value: str) -> None:
    module, colon, function = value.partition(":")
    if value and not (colon and all(part.isidentifier() for part in (*module.split("."), function))):
        raise ValueError(f'"{value}" is not a function. Write its module and its name: my_batches:enrich.')


class HookOptions(settings.Options):
    """A function of the user's."""

    hook = settings.String(
        "foreach.batch",
        default=None,
        importance="LOW",
        group="Batches",
        width="LONG",
        convert=lambda written: written or None,
        validator=_named,
        doc="With engine=spark: module:function, called with each batch in place of writing the table, as "
        "function(rows, batch, context). context.write(rows) writes the table.",
    )
