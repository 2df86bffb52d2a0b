"""AvroConverter: values in Avro, their schemas in a schema registry."""

from connect.converters.avro.converter import AvroConverter

__all__ = ["AvroConverter"]
