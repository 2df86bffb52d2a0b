"""What flows through the pool: a flow is one connector with the system that it writes or reads."""
