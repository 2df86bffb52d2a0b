"""The connectors that come with the runtime, a folder each."""
