"""Metrics, logs and the redaction of secrets. Imports no other room."""

from connect.telemetry.metrics import Buckets, Counter, Gauge, Histogram, Labelled, Registry, Sample
from connect.telemetry.redaction import RedactingFilter, Redactor, redactor
from connect.telemetry.windows import Rate

__all__ = [
    "Buckets",
    "Counter",
    "Gauge",
    "Histogram",
    "Labelled",
    "Rate",
    "RedactingFilter",
    "Redactor",
    "Registry",
    "Sample",
    "redactor",
]
