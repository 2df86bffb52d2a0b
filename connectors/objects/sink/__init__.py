"""Topics to objects: what the sinks of all stores have in common."""
