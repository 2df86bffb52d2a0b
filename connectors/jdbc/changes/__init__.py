"""What the change captures of all databases share: which tables and columns, the envelope, keys of the same meaning."""
