"""Live events over MQTT, as JSON."""
