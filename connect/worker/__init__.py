"""Task processes: the supervisor, the lease, the source and the sink loop."""
