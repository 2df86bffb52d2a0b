"""For authors of plug-ins: an in-memory runtime and a conformance suite."""
