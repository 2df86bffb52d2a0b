"""Posts of X (Twitter) into topics: the filtered stream, recent search and users' timelines of its API v2."""

from connectors.twitter.connector import TwitterSourceConnector, TwitterSourceTask

__all__ = ["TwitterSourceConnector", "TwitterSourceTask"]
