"""Membership in the group of workers."""
