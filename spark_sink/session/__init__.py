"""Spark sessions: a JVM of this process's own, a cluster's, or a Spark Connect server's, opened and ended with care."""
