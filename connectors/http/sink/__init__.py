"""Records of topics as requests to a REST API."""

from connectors.http.sink.connector import HttpSinkConnector
from connectors.http.sink.task import HttpSinkTask

__all__ = ["HttpSinkConnector", "HttpSinkTask"]
