"""REST APIs: their responses into topics, and records of topics to them."""
