"""Where configurations, offsets and states are kept."""
