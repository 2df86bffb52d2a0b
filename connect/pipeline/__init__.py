"""Converters and transformations over a batch, with the error policy."""
