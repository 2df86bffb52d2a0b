"""Spark sessions: a JVM of this process's own, a cluster's, or a Spark Connect server's, opened and ended with care."""

from spark_sink.session.session import Session, open_session

__all__ = ["Session", "open_session"]
