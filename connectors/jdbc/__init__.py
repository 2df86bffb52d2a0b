"""Databases to topics and topics to tables, through SQLAlchemy and each database's fast path."""
