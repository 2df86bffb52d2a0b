"""Rows on their way into a table, whatever its format: made of records, waiting, and which of a key counts."""
