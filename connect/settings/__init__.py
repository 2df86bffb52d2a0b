"""Configuration: definitions, property files, providers, secrets."""
