"""Turns what users want (configurations, target states) into running tasks."""
