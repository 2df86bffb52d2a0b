"""The only room that talks to Kafka: clients, administration, the compacted log, the embedded broker."""
