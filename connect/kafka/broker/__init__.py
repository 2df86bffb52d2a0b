"""The broker that runs on this machine."""
