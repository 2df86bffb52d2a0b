"""Questions to brokers beside records, and changes of topics and groups."""
