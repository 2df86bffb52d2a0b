"""Metrics, logs and the redaction of secrets."""
