"""Schemas, records, batches: what flows."""
