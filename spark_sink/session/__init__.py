"""Spark sessions: a JVM of this process, a cluster's, or a Spark Connect server's, opened and closed reliably."""

from spark_sink.session.session import Session, open_session

__all__ = ["Session", "open_session"]
