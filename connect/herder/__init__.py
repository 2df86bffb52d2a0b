"""Turns wishes (configurations, target states) into running tasks."""
