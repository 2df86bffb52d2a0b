"""What Kafka's clients are told, and what they say: settings, certificates, logins, errors."""
