"""The transformations that come with the runtime, a module each."""
