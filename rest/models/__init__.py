"""What the REST interface says, field by field in the order in which Kafka Connect writes it.

https://kafka.apache.org/documentation/#connect_rest
"""
