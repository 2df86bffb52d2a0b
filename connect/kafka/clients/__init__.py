"""What Kafka's clients share: settings, certificates, logins, errors."""
