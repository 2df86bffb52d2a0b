"""How records are written to objects and read from them. `format.py` says what a format is."""

from connectors.objects.formats.format import Encoded, Format, Payload, Writer

__all__ = ["Encoded", "Format", "Payload", "Writer"]
