"""The transformations that come with the runtime, one module each."""
