"""Administration: what brokers know beside records, and changes of topics and groups."""
