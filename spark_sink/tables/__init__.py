"""Rows of a streaming query into tables, exactly once: Delta, and files of Parquet and JSON."""

from spark_sink.tables.settings import TableSettings
from spark_sink.tables.writer import TableWriter

__all__ = ["TableSettings", "TableWriter"]
