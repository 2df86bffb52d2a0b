"""Metrics and spans over OTLP. Only here OpenTelemetry's SDK is imported, which the extra `opentelemetry` brings."""

from connect.telemetry.otlp.export import Receiver, Sender, environment_secrets, is_disabled, is_installed

__all__ = ["Receiver", "Sender", "environment_secrets", "is_disabled", "is_installed"]
