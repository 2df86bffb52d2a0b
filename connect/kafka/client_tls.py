"""A TLS context for connecting to servers that are no brokers, from Java's ssl.* settings."""

from connect.kafka._tls import tls_context as client_tls_context

__all__ = ["client_tls_context"]
