"""Responses of REST APIs as records."""

from connectors.http.source.connector import HttpSourceConnector
from connectors.http.source.task import HttpSourceTask

__all__ = ["HttpSourceConnector", "HttpSourceTask"]
