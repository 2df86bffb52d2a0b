"""REST APIs: their answers into topics, and records of topics to them."""
