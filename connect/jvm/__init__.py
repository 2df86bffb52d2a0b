"""Java on this machine: finding it, its trust store, and sets of jars with their checksums."""
