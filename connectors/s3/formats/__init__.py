"""How records are written into objects. What a format is stands in `format.py`; `named` finds one."""

from connectors.s3.formats.format import Encoded, Format, Payload, Writer

__all__ = ["Encoded", "Format", "Payload", "Writer"]
